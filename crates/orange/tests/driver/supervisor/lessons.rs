//! Other tools' failures that a supervisor must not repeat, by number.

use std::time::Duration;
use std::{fs, thread};

use orange_config::clock::Deadline;
use orange_driver::supervisor::{Settings, Supervisor};
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::deaths;
use super::probes::{real_tmux, with_tmux};
use crate::support::scripts::WORK;
use crate::support::{PASS, PLAN_AND_WORK, RunningSupervisor, SOON, Stage, wait_for};

#[test]
fn lesson_11_a_dead_reviewer_beside_a_live_worker_is_seen() {
    let stage = Stage::new("default");
    let _serving = RunningSupervisor::start(&stage);
    stage.script("worker-1", &format!("{PLAN_AND_WORK}hang"));
    stage.script("reviewer-1", "pause go\nkill -9 $$");
    stage.script("reviewer-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
    stage.wait_until_idle(&id);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("another reviewer", || deaths(&stage, &id) == 1);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
}

#[test]
fn lesson_13_an_agent_that_says_nothing_is_left_alone() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let (version, panes) = (stage.task(&id).version, stage.panes());
    let settings = Settings {
        tick: Duration::from_millis(1),
        sweep: Duration::from_millis(20),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    // Thousands of polls and a hundred sweeps are as much as a night.
    let changed = Deadline::after(Duration::from_secs(3))
        .wait_for(|| stage.task(&id).version != version || stage.panes() != panes);
    assert!(!changed, "{}", stage.diagnostics(&id));
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

#[test]
fn lesson_36_an_unreadable_task_does_not_stop_the_watching_of_others() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    stage.script("worker-2", "pause go\nexit 7");
    let bad = stage.create(&["Add a line", "--workflow", "minimal"]);
    stage.run_ok(&["task", "spawn", bad.as_str(), "--wait", "60"]);
    let good = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", good.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&bad);
    stage.wait_until_idle(&good);
    let database = rusqlite::Connection::open(stage.home().database()).unwrap();
    let sql = "UPDATE texts SET text = x'6e6f' WHERE hash =
               (SELECT workflow_hash FROM tasks WHERE id = ?1)";
    assert_eq!(database.execute(sql, [bad.as_str()]).unwrap(), 1);
    drop(database);
    let _serving = RunningSupervisor::start(&stage);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the death of the other", || deaths(&stage, &good) == 1);
    let log = stage.run_ok(&["log", "--task", bad.as_str()]);
    assert!(log.contains("supervise.failed"), "{log}");
}

/// Answers every poll half a second late, and counts the requests.
const SLOW: &str = r#"#!/bin/sh
case "$*" in
*" -C "*) tee "ROOT/asked" | "REAL" "$@" | perl -e '
    $| = 1;
    while (<STDIN>) { select(undef, undef, undef, 0.5) if /^%begin/; print }' ;;
*) exec "REAL" "$@" ;;
esac
"#;

#[test]
fn lesson_45_a_slow_check_is_not_started_twice() {
    let mut stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let script = SLOW.replace("REAL", &real_tmux());
    with_tmux(&mut stage, &script);
    let settings = Settings {
        tick: Duration::from_millis(1),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    let asked = || {
        let text = fs::read_to_string(stage.path("asked")).unwrap_or_default();
        text.matches("list-panes").count()
    };
    wait_for("five looks", || asked() >= 5);
    // A tick of a millisecond would have polled more than a thousand times.
    assert!(asked() < 20, "{} looks", asked());
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

#[test]
fn lesson_14_a_reviewer_that_cannot_start_is_reported() {
    let stage = Stage::new("default");
    let harnesses = stage.path("home/harnesses");
    let text = fs::read_to_string(harnesses.join("script.toml")).unwrap();
    let other = harnesses.join("other.toml");
    fs::write(&other, text.replace("\"script\"", "\"other\"")).unwrap();
    let _serving = RunningSupervisor::start(&stage);
    // The worker exits with its work done, so that the supervisor advances the task.
    let work = PLAN_AND_WORK.replace("ask task update --status agent-review\n", "pause go\n");
    stage.script("worker-1", &format!("{work}exit 0"));
    let id = stage.create(&["Add a line", "--review-harness", "other"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "working");
    fs::rename(&other, stage.path("other.toml")).unwrap();
    fs::write(stage.path("scripts/go"), "").unwrap();
    stage.wait_for_status(&id, "agent-review");
    wait_for("the failure", || !stage.task(&id).attention.is_empty());
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(why.contains("other"), "{why}");
    // The user fixes it, and the task continues.
    fs::rename(stage.path("other.toml"), &other).unwrap();
    stage.script("reviewer-1", PASS);
    stage.run_ok(&[
        "task",
        "respawn",
        id.as_str(),
        "--role",
        "reviewer",
        "--wait",
        "60",
    ]);
    stage.wait_for_status(&id, "reviewing");
}

impl Stage {
    fn attempts(&self, id: &TaskId) -> i64 {
        let task = self.task(id);
        task.fields.values().next().copied().unwrap_or_default()
    }
}

#[test]
fn lesson_39_attempts_only_increase_and_are_limited() {
    let stage = Stage::new("autopilot");
    let _serving = RunningSupervisor::start(&stage);
    // Each run ends differently, so that only the number of attempts stops it.
    for turn in 1..=9 {
        stage.script(&format!("worker-{turn}"), &format!("exit {turn}"));
    }
    let (code, answer) = stage.json(&["task", "create", "--json", "one", "Add a line"]);
    assert!([0, 5].contains(&code), "{answer}");
    let id = TaskId::new(answer["task"]["id"].as_str().unwrap());
    let mut seen = vec![stage.attempts(&id)];
    let in_time = Deadline::after(3 * SOON).wait_for(|| {
        let now = stage.attempts(&id);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        // A user need not wait for the pause between two attempts.
        let status = stage.task(&id).status;
        if status.as_str() == "new" {
            stage.call(&["task", "spawn", id.as_str(), "--wait", "0"]);
        }
        status.as_str() == "blocked"
    });
    assert!(in_time, "{}", stage.diagnostics(&id));
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(stage.attempts(&id), 5);
    assert_eq!(deaths(&stage, &id), 5, "{}", stage.diagnostics(&id));
    let more = Deadline::after(Duration::from_secs(3)).wait_for(|| deaths(&stage, &id) > 5);
    assert!(!more, "{}", stage.diagnostics(&id));
}

#[test]
fn lesson_41_the_same_error_three_times_stops_a_task() {
    let stage = Stage::new("autopilot");
    let _serving = RunningSupervisor::start(&stage);
    for turn in 1..=9 {
        stage.script(&format!("worker-{turn}"), "exit 7");
    }
    let (code, answer) = stage.json(&["task", "create", "--json", "one", "Add a line"]);
    assert!([0, 5].contains(&code), "{answer}");
    let id = TaskId::new(answer["task"]["id"].as_str().unwrap());
    let in_time =
        Deadline::after(3 * SOON).wait_for(|| stage.task(&id).status.as_str() == "needs_review");
    assert!(in_time, "{}", stage.diagnostics(&id));
    assert_eq!(deaths(&stage, &id), 3, "{}", stage.diagnostics(&id));
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(why.contains("exited with code 7"), "{why}");
}

#[test]
fn lesson_42_reviews_count_towards_the_start_limit() {
    let stage = Stage::new("respawn");
    fs::write(stage.path("home/config.toml"), "[limits]\nagents = 2\n").unwrap();
    let _serving = RunningSupervisor::start(&stage);
    for turn in 1..=2 {
        stage.script(&format!("worker-{turn}"), WORK);
        stage.script(&format!("reviewer-{turn}"), &format!("pause go\n{PASS}"));
    }
    for turn in 3..=6 {
        stage.script(&format!("worker-{turn}"), "hang");
    }
    let tasks: Vec<TaskId> = (0..4)
        .map(|number| {
            let branch = format!("b{number}");
            let (code, answer) = stage.json(&["task", "create", "--json", &branch, "Add a line"]);
            assert!([0, 5].contains(&code), "{answer}");
            TaskId::new(answer["task"]["id"].as_str().unwrap())
        })
        .collect();
    wait_for("two reviews", || {
        stage.panes() == ["reviewer:0", "reviewer:0"]
    });
    let more = Deadline::after(Duration::from_secs(4)).wait_for(|| stage.panes().len() > 2);
    assert!(!more, "{:?}", stage.panes());
    let is_queued = |id: &&TaskId| stage.task(id).runs.is_empty();
    let queued: Vec<&TaskId> = tasks.iter().filter(is_queued).collect();
    assert_eq!(queued.len(), 2);
    let why = stage.run_ok(&["task", "why", queued[0].as_str()]);
    assert!(why.contains("only 2 agents may run at once"), "{why}");
    fs::write(stage.path("scripts/go"), "").unwrap();
    let started = || {
        queued
            .iter()
            .all(|id| stage.task(id).is_live(&Role::Worker))
    };
    wait_for("the others", started);
}
