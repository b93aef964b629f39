//! Failures of others that a supervisor must not repeat, by number.

use std::fs;
use std::thread;
use std::time::Duration;

use orange::clock::Deadline;
use orange::supervisor::{Settings, Supervisor};

use super::probes::{real_tmux, with_tmux};
use super::{Serving, deaths};
use crate::stage::{Stage, wait_for};
use crate::stories::PLAN_AND_WORK;

#[test]
fn lesson_11_a_dead_reviewer_beside_a_live_worker_is_seen() {
    let stage = Stage::new("default");
    let _serving = Serving::on(&stage);
    stage.script("worker-1", &format!("{PLAN_AND_WORK}hang"));
    stage.script("reviewer-1", "pause go\nkill -9 $$");
    stage.script("reviewer-2", "hang");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
    stage.wait_for_rest(&id);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("another reviewer", || deaths(&stage, &id) == 1);
    wait_for("both", || stage.panes() == ["reviewer:0", "worker:0"]);
}

#[test]
fn lesson_13_an_agent_that_says_nothing_is_left_alone() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_rest(&id);
    let (version, panes) = (stage.task(&id).version, stage.panes());
    let settings = Settings {
        tick: Duration::from_millis(1),
        sweep: Duration::from_millis(20),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    // Thousands of looks and a hundred sweeps are as much as a night.
    let changed = Deadline::after(Duration::from_secs(3))
        .wait_for(|| stage.task(&id).version != version || stage.panes() != panes);
    assert!(!changed, "{}", stage.told(&id));
    stopper.stop();
    supervising.join().unwrap().unwrap();
}

#[test]
fn lesson_36_a_task_that_cannot_be_read_keeps_no_other_from_being_watched() {
    let stage = Stage::new("default");
    stage.script("worker-1", "hang");
    stage.script("worker-2", "pause go\nexit 7");
    let bad = stage.create(&["Add a line", "--workflow", "minimal"]);
    stage.must(&["task", "spawn", bad.as_str(), "--wait", "60"]);
    let good = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", good.as_str(), "--wait", "60"]);
    stage.wait_for_rest(&bad);
    stage.wait_for_rest(&good);
    let database = rusqlite::Connection::open(stage.home().database()).unwrap();
    let sql = "UPDATE texts SET text = x'6e6f' WHERE hash =
               (SELECT workflow_hash FROM tasks WHERE id = ?1)";
    assert_eq!(database.execute(sql, [bad.as_str()]).unwrap(), 1);
    drop(database);
    let _serving = Serving::on(&stage);
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the death of the other", || deaths(&stage, &good) == 1);
    let log = stage.must(&["log", "--task", bad.as_str()]);
    assert!(log.contains("supervise.failed"), "{log}");
}

/// Answers every look half a second late, and counts what it was asked.
const SLOW: &str = r#"#!/bin/sh
case "$*" in
*" -C "*) tee "ROOT/asked" | "REAL" "$@" | perl -e '
    $| = 1;
    while (<STDIN>) { select(undef, undef, undef, 0.5) if /^%begin/; print }' ;;
*) exec "REAL" "$@" ;;
esac
"#;

#[test]
fn lesson_45_who_answers_late_is_not_asked_again_meanwhile() {
    let mut stage = Stage::new("default");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_rest(&id);
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
    // A tick of a millisecond would have asked more than a thousand times.
    assert!(asked() < 20, "{} looks", asked());
    stopper.stop();
    supervising.join().unwrap().unwrap();
}
