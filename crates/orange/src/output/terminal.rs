//! The whole terminal, for the dashboard.

use std::io::{self, BufWriter, Stdout};

/// Where the dashboard draws; output appears when it is flushed.
#[expect(clippy::disallowed_methods, reason = "this folder prints")]
pub fn terminal() -> BufWriter<Stdout> {
    BufWriter::with_capacity(64 * 1024, io::stdout())
}
