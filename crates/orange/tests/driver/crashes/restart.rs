//! A supervisor that starts with everything left half-done.
//!
//! `RESTARTS` sets the number of tasks; to check that a thousand take at most three seconds:
//! `RESTARTS=1000 cargo nextest run --release -p orange --features crash-points --test driver
//! restart`.

use std::fs;
use std::time::{Duration, Instant};

use orange_driver::{Answer, TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::crash_marks::set_crash_marks;
use crate::support::{RunningSupervisor, Stage, wait_for};

/// How many starts have happened without being recorded.
const HALF_WAY: usize = 40;

/// How many starts have not happened at all.
const AHEAD: usize = 6;

/// The time limit, also for a thousand.
const SOON: Duration = Duration::from_secs(3);

/// Plans a start without performing it.
fn plan(stage: &Stage) -> TaskId {
    let id = stage.create(&["Add a line"]);
    let request = TaskRequest {
        task: id.clone(),
        request: Request::new(Role::Human, RequestKind::Verb(Verb::Spawn)),
        waiting: WaitPolicy::Skip,
    };
    let answer = stage.driver().requests.ask(&request).unwrap();
    assert!(matches!(answer, Answer::StillRunning(_)), "{answer:?}");
    id
}

/// Performs the start, and dies before recording it.
fn die_after_starting(stage: &Stage, id: &TaskId) {
    let _absent = fs::remove_file(stage.path("home/crash-points/reached"));
    let performed = stage.orange(&["perform", id.as_str()]).status().unwrap();
    assert!(!performed.success(), "it should have died");
    assert_eq!(stage.task(id).pending.len(), 1, "{}", stage.diagnostics(id));
}

#[test]
fn ends_are_recorded_immediately_and_starts_are_paced() {
    let configured = std::env::var("RESTARTS").ok();
    let half_way = configured.map_or(HALF_WAY, |text| text.parse().unwrap());
    let stage = Stage::new("minimal");
    // One start a second.
    let size = half_way + AHEAD;
    let settings = format!("[pool]\nsize = {size}\n[supervisor]\nstart_rate = 60\n");
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    let begun: Vec<TaskId> = (0..half_way).map(|_| plan(&stage)).collect();
    // The workspace is acquired, the agent is started, and then the performer dies.
    set_crash_marks(&stage, &["after an effect"], &[1]);
    for id in &begun {
        die_after_starting(&stage, id);
    }
    fs::remove_dir_all(stage.path("home/crash-points")).unwrap();
    let ahead: Vec<TaskId> = (0..AHEAD).map(|_| plan(&stage)).collect();
    assert_eq!(stage.panes().len(), half_way);

    let started = Instant::now();
    let serving = RunningSupervisor::start(&stage);
    let is_settled = |id: &TaskId| stage.task(id).pending.is_empty();
    // Checking all of them on every poll would take a core away from the process that records them.
    let mut left = begun.clone();
    wait_for("what has happened", || {
        while left.last().is_some_and(is_settled) {
            left.pop();
        }
        left.is_empty()
    });
    let took = started.elapsed();
    let early = ahead.iter().filter(|id| is_settled(id)).count();
    println!("{half_way} starts that had happened: recorded after {took:.2?}");
    assert!(took < SOON, "{took:?}");
    assert!(
        early <= usize::try_from(took.as_secs()).unwrap() + 1,
        "{early} starts within {took:?}"
    );
    wait_for("the rest", || ahead.iter().all(is_settled));
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(5), "six starts within {took:?}");
    drop(serving);

    let panes = stage.tmux(&["list-panes", "-a", "-F", "#{@orange_run}"]);
    let mut runs: Vec<&str> = panes.lines().collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), size, "one agent for each");
    assert_eq!(panes.lines().count(), size, "and none twice");
    for id in begun.iter().chain(&ahead) {
        assert_eq!(stage.store().runs(id).unwrap().len(), 1);
    }
}
