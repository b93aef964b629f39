//! How command times grow from 10 to 1,000 and 10,000 tasks.
//!
//! Run with `cargo bench -p orange --bench growth`. A command about one task may take 1.3 times as
//! long with 10,000 tasks as with 10, and a list of 1,000 may take ten milliseconds longer than one
//! of 10. The bench alternates between the homes, so that a noisy machine affects all of them
//! alike. All tasks are queued: half of the table is about tasks without a requested start, the
//! other half about tasks that a limit holds back.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, measures time and prints what it measured"
)]

mod copies;
mod stage;

use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;

use crate::copies::copy_task;
use crate::stage::{Stage, median, timed};

const SIZES: [usize; 3] = [10, 1_000, 10_000];
const ROUNDS: usize = 21;
const ONE_TASK_LIMIT: f64 = 1.3;
const LIST_LIMIT: Duration = Duration::from_millis(10);

/// Commands about one task; `BRANCH` is the task's branch, `NEW` an unused branch name.
const COMMANDS: [(&str, &[&str]); 4] = [
    (
        "create",
        &["create", "--no-spawn", "--branch", "NEW", "A summary"],
    ),
    ("show", &["show", "BRANCH"]),
    ("why", &["why", "BRANCH"]),
    ("update", &["update", "BRANCH", "--summary", "NEW"]),
];

fn main() {
    let mut is_slow = false;
    for starts_itself in [false, true] {
        let kind = if starts_itself {
            "held back by a limit"
        } else {
            "not to be started"
        };
        println!("{kind}, medians of {ROUNDS} rounds in turns:");
        let homes: Vec<Stage> = SIZES.map(|size| home_of(size, starts_itself)).into();
        for (name, words) in COMMANDS {
            let times = measure(&homes, |home, round| task(home, words, round));
            let growth = times[2].as_secs_f64() / times[0].as_secs_f64();
            println!("  {name:<8} {}, {growth:.2} times", times_text(&times));
            is_slow |= growth > ONE_TASK_LIMIT;
        }
        let times = measure(&homes, |home, round| task(home, &["list"], round));
        let longer = times[1].saturating_sub(times[0]);
        println!("  list     {}, {longer:.1?} longer", times_text(&times));
        is_slow |= longer > LIST_LIMIT;
    }
    assert!(!is_slow, "something is over its limit");
}

fn times_text(times: &[Duration]) -> String {
    let sizes = SIZES.iter().zip(times);
    let bodies: Vec<String> = sizes
        .map(|(size, took)| format!("{size}: {took:.1?}"))
        .collect();
    bodies.join(", ")
}

fn measure(homes: &[Stage], command: impl Fn(&Stage, usize) -> Command) -> Vec<Duration> {
    let mut times: Vec<Vec<Duration>> = homes.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for (home, times) in homes.iter().zip(&mut times) {
            times.push(timed(&mut command(home, round)));
        }
    }
    times.into_iter().map(median).collect()
}

/// A home with a given number of tasks, one of which has the only agent that may run.
fn home_of(size: usize, starts_itself: bool) -> Stage {
    let stage = Stage::new("[limits]\nagents = 1\n");
    let summary = "Say in a sentence of an ordinary length what is to be done";
    timed(&mut task(
        &stage,
        &["create", "--no-spawn", "measured", summary],
        0,
    ));
    let path = stage.path("home/orange.db");
    copy_task(&path, size - 1, starts_itself);
    let database = Connection::open(path).unwrap();
    let sql = "UPDATE tasks SET status = 'working',
                   snapshot = json_set(snapshot, '$.status', 'working') WHERE id = 't00001';
               UPDATE task_rows SET status = 'working' WHERE task = 't00001';";
    database.execute_batch(sql).unwrap();
    stage
}

fn task(stage: &Stage, words: &[&str], round: usize) -> Command {
    let new = format!("new-{}-{round}", words[0]);
    let words = words.iter().map(|word| match *word {
        "BRANCH" => "measured",
        "NEW" => new.as_str(),
        word => word,
    });
    let words: Vec<&str> = ["task"].into_iter().chain(words).collect();
    stage.orange(&words)
}
