//! How long `check` takes on shipped, large and boundless workflows.
//!
//! Run with `cargo bench -p orange-check`; it fails when `default` takes a second,
//! another ten seconds, or all of them together a gibibyte.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a benchmark measures time and prints what it measured"
)]

#[path = "../tests/check/generated_workflows.rs"]
mod generated_workflows;

use std::time::{Duration, Instant};

use orange_check::check::{Coverage, check};
use orange_engine::{Workflow, load, shipped_workflows};

/// Each is measured up to this often; the best counts, because the machine has other work too.
const ROUNDS: usize = 10;

fn main() {
    let shipped = shipped_workflows::ALL.iter();
    let mut rows: Vec<(String, String, Duration)> = shipped
        .map(|shipped| {
            let source = shipped.source.to_owned();
            (shipped.name.to_owned(), source, Duration::from_secs(1))
        })
        .collect();
    let most = Duration::from_secs(10);
    let (states, transitions) = (
        generated_workflows::STATES,
        generated_workflows::TRANSITIONS,
    );
    let large = format!("{states} states, {transitions} transitions");
    rows.push((large, generated_workflows::large(), most));
    let high = generated_workflows::large()
        .replace("max_laps: 2, max_turns: 2", "max_laps: 90, max_turns: 90");
    rows.push((String::from("the same with high limits"), high, most));
    rows.push((
        String::from("ten counters"),
        generated_workflows::counting(),
        most,
    ));
    for (name, source, limit) in rows {
        let workflow = load(&source).into_result().expect("it loads");
        let (mut best, mut covered) = measured(&workflow);
        for _ in 1..ROUNDS {
            if best < limit / 2 {
                break;
            }
            let (time, again) = measured(&workflow);
            best = best.min(time);
            covered = again;
        }
        println!(
            "check, {name}: {best:?}, {} situations, {} steps, complete: {}",
            covered.situations, covered.steps, covered.is_complete
        );
        assert!(best < limit, "{name} took {best:?}, not under {limit:?}");
    }
    if let Some(kibibytes) = most_memory() {
        println!("most memory: {} MiB", kibibytes / 1024);
        assert!(kibibytes < 1024 * 1024, "{kibibytes} KiB are too much");
    }
}

fn measured(workflow: &Workflow) -> (Duration, Coverage) {
    let start = Instant::now();
    let checked = check(workflow);
    (start.elapsed(), checked.coverage)
}

/// The most memory this process ever had, where the system says so.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
