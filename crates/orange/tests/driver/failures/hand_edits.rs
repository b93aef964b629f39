//! A hand-edited status is decided once, despite deaths and waits.

use std::fs;

use orange_config::clock;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_store as store;

use crate::support::gates::start_with_workflow;
use crate::support::{COUNTED, Stage, wait_for};

/// Writes another status into TASK.md, as an agent would.
fn write_status(stage: &Stage, id: &TaskId, from: &str, to: &str) {
    let file = stage.worktree(id).join("TASK.md");
    let text = fs::read_to_string(&file).unwrap();
    let edited = text.replace(&format!("status: {from}"), &format!("status: {to}"));
    assert_ne!(edited, text);
    fs::write(&file, edited).unwrap();
}

fn rejections(stage: &Stage, id: &TaskId) -> usize {
    let events = stage.store().events(id, 0).unwrap();
    let facts = events.iter().map(|it| &it.event.fact);
    facts
        .filter(|fact| matches!(fact, Fact::EditRejected { .. }))
        .count()
}

fn start_planned_task() -> (Stage, TaskId) {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    // Once TASK.md has the last version, no process writes copies any more.
    let file = stage.worktree(&id).join("TASK.md");
    wait_for("the last copy", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.contains(&format!("version: {}\n", stage.task(&id).version))
    });
    (stage, id)
}

#[test]
fn an_edit_that_was_overwritten_by_one_who_died_is_answered() {
    let (stage, id) = start_planned_task();
    write_status(&stage, &id, "planning", "reviewing");
    // All that the dead process did: the copy is current, and nothing was decided.
    let projected = store::project(&mut stage.store(), &id, clock::now()).unwrap();
    assert!(projected.wish.is_some());
    assert!(stage.task_text(&id).contains("status: planning"));
    assert_eq!(rejections(&stage, &id), 0);
    for summary in ["Add two lines", "Add three lines"] {
        stage.must(&["task", "update", id.as_str(), "--summary", summary]);
        assert_eq!(rejections(&stage, &id), 1, "{}", stage.told(&id));
    }
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    assert_eq!(stage.store().pending_status_edit(&id).unwrap(), None);
}

#[test]
fn an_edit_that_was_answered_by_one_who_died_is_not_answered_again() {
    let (stage, id) = start_planned_task();
    write_status(&stage, &id, "planning", "reviewing");
    let file = stage.worktree(&id).join("TASK.md");
    let edited = fs::read(&file).unwrap();
    stage.must(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(rejections(&stage, &id), 1, "{}", stage.told(&id));
    // As if the answer had been recorded and the copy had not been written.
    fs::write(&file, edited).unwrap();
    stage.must(&[
        "task",
        "update",
        id.as_str(),
        "--summary",
        "Add three lines",
    ]);
    assert_eq!(rejections(&stage, &id), 1, "{}", stage.told(&id));
    // The same request, written again below the rejection, is a new one.
    write_status(&stage, &id, "planning", "reviewing");
    stage.must(&["task", "update", id.as_str(), "--summary", "Add a line"]);
    assert_eq!(rejections(&stage, &id), 2, "{}", stage.told(&id));
}

#[test]
fn an_edit_waits_for_a_gate_that_takes_long() {
    for (answer, status, rejected) in [("0", "closed", 0), ("1", "held", 1)] {
        let asked = "    gate: asked\n";
        let by = format!("{asked}    by: [worker, human]\n");
        let (stage, id) = start_with_workflow("exit 0", COUNTED, |text| text.replace(asked, &by));
        stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.wait_until_idle(&id);
        write_status(&stage, &id, "held", "closed");
        let update = ["task", "update", id.as_str(), "--summary"];
        let said = stage.call(&[&update[..], &["Add two lines", "--wait", "1"]].concat());
        assert_eq!(said.0, 0, "{}", said.1);
        assert_eq!(stage.task(&id).summary, "Add two lines");
        assert_eq!(stage.task(&id).status.as_str(), "held");
        assert!(stage.task_text(&id).contains("status: held"));
        assert_eq!(rejections(&stage, &id), 0);
        stage.script("answer", answer);
        wait_for("the gate", || {
            let known = stage.store().gate_commands(&id).unwrap();
            known.iter().all(|it| it.answer.is_some())
        });
        // The next request brings the answer; for an ended task that request is refused.
        stage.call(&[&update[..], &["Add three lines", "--wait", "60"]].concat());
        assert_eq!(
            stage.task(&id).status.as_str(),
            status,
            "{}",
            stage.told(&id)
        );
        assert_eq!(rejections(&stage, &id), rejected, "{}", stage.told(&id));
        assert_eq!(stage.store().pending_status_edit(&id).unwrap(), None);
    }
}
