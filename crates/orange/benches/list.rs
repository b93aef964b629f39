//! `orange task list` and `--help` against minimal programs with the same output.
//!
//! Run with `cargo bench -p orange --bench list`. The list of ten thousand tasks may take twice as
//! long as a program that selects the same rows and prints the same bytes (this one, started with
//! `--select`), the help three times as long as a program that does nothing (`--nothing`). The
//! bench alternates between them, so that a noisy machine affects all alike. `supervise` measures a
//! list of live agents.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod copies;
mod minimal_select;
mod stage;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::copies::copy_task;
use crate::minimal_select::select;
use crate::stage::{Stage, median, timed};

const TASKS: usize = 10_000;
const ROUNDS: usize = 40;
const LIST_LIMIT: f64 = 2.0;
const HELP_LIMIT: f64 = 3.0;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--nothing") => return,
        Some("--select") => return select(Path::new(&arguments.next().unwrap())),
        _ => {}
    }
    let stage = Stage::new("");
    let summary = "Say in a sentence of an ordinary length what is to be done";
    timed(&mut stage.orange(&["task", "create", "--no-spawn", summary]));
    let home = stage.path("home");
    copy_task(&home.join("orange.db"), TASKS - 1, false);
    let printed = stage.orange(&["task", "list"]).output().unwrap();
    let lines = String::from_utf8_lossy(&printed.stdout).lines().count();
    assert_eq!(lines, TASKS + 1, "{printed:?}");
    fs::write(home.join("printed"), &printed.stdout).unwrap();
    let own = |arguments: &[&Path]| {
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.args(arguments).env_clear();
        own
    };
    let mut times: [Vec<Duration>; 4] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        times[0].push(timed(&mut stage.orange(&["task", "list"])));
        times[1].push(timed(&mut own(&[Path::new("--select"), &home])));
        times[2].push(timed(&mut stage.orange(&["--help"])));
        times[3].push(timed(&mut own(&[Path::new("--nothing")])));
    }
    let [list, select, help, nothing] = times.map(median);
    let of = |ours: Duration, least: Duration| ours.as_secs_f64() / least.as_secs_f64();
    let (listing, helping) = (of(list, select), of(help, nothing));
    println!("list {list:?}, select {select:?}, ratio {listing:.2}, {TASKS} tasks");
    println!("help {help:?}, nothing {nothing:?}, ratio {helping:.2}, {ROUNDS} rounds in turns");
    assert!(listing <= LIST_LIMIT, "the ratio {listing:.2} is over");
    assert!(helping <= HELP_LIMIT, "the ratio {helping:.2} is over");
}
