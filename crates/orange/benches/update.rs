//! `orange task update --status …` against a minimal program.
//!
//! Run with `cargo bench -p orange --bench update`; it fails when the ratio of the medians is over
//! 1.3. The minimal program is this one, started with `--minimal`: one transaction of the same rows,
//! one line of history, the import and TASK.md replaced, each made durable by the same calls in the
//! same order, and the same bytes printed. The bench alternates between both, so that a noisy
//! machine affects both alike.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod minimal_update;
mod stage;

use std::path::Path;
use std::process::Command;

use crate::minimal_update::{minimal, prepare};
use crate::stage::{Stage, median, timed};

const ROUNDS: usize = 60;
const LIMIT: f64 = 1.3;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--minimal") {
        return minimal(Path::new(&arguments.next().unwrap()));
    }
    let stage = Stage::new("");
    let (task, folder) = prepare(&stage);
    let (mut ours, mut least) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let to = if round % 2 == 0 { "held" } else { "open" };
        let mut update = stage.orange(&["task", "update", &task, "--status", to]);
        ours.push(timed(&mut update));
        let mut minimal = Command::new(std::env::current_exe().unwrap());
        minimal.arg("--minimal").arg(&folder).env_clear();
        least.push(timed(&mut minimal));
    }
    let (ours, least) = (median(ours), median(least));
    let ratio = ours.as_secs_f64() / least.as_secs_f64();
    println!("update {ours:?}, minimal {least:?}, ratio {ratio:.2}, {ROUNDS} rounds in turns");
    assert!(ratio <= LIMIT, "the ratio {ratio:.2} is over {LIMIT}");
}
