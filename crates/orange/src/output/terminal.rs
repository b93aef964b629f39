//! The whole terminal, for who draws on it.

use std::io::{self, BufWriter, Stdout};

/// Where a dashboard draws; what is written is shown when it is flushed.
#[expect(clippy::disallowed_methods, reason = "this folder prints")]
pub fn terminal() -> BufWriter<Stdout> {
    BufWriter::with_capacity(64 * 1024, io::stdout())
}
