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
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
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
fn an_edit_overwritten_by_a_killed_process_is_processed() {
    let (stage, id) = start_planned_task();
    write_status(&stage, &id, "planning", "reviewing");
    // All that the dead process did: the copy is current, and nothing was decided.
    let projected = store::project(&mut stage.store(), &id, clock::now()).unwrap();
    assert!(projected.status_edit.is_some());
    assert!(stage.task_text(&id).contains("status: planning"));
    assert_eq!(rejections(&stage, &id), 0);
    for summary in ["Add two lines", "Add three lines"] {
        stage.run_ok(&["task", "update", id.as_str(), "--summary", summary]);
        assert_eq!(rejections(&stage, &id), 1, "{}", stage.diagnostics(&id));
    }
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    assert_eq!(stage.store().pending_status_edit(&id).unwrap(), None);
}

#[test]
fn an_edit_processed_by_a_killed_process_is_not_processed_again() {
    let (stage, id) = start_planned_task();
    write_status(&stage, &id, "planning", "reviewing");
    let file = stage.worktree(&id).join("TASK.md");
    let edited = fs::read(&file).unwrap();
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    assert_eq!(rejections(&stage, &id), 1, "{}", stage.diagnostics(&id));
    // As if the answer had been recorded and the copy had not been written.
    fs::write(&file, edited).unwrap();
    stage.run_ok(&[
        "task",
        "update",
        id.as_str(),
        "--summary",
        "Add three lines",
    ]);
    assert_eq!(rejections(&stage, &id), 1, "{}", stage.diagnostics(&id));
    // The same request, written again below the rejection, is a new one.
    write_status(&stage, &id, "planning", "reviewing");
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add a line"]);
    assert_eq!(rejections(&stage, &id), 2, "{}", stage.diagnostics(&id));
}

#[test]
fn an_edit_waits_for_a_slow_gate() {
    for (answer, status, rejected) in [("0", "closed", 0), ("1", "held", 1)] {
        let asked = "    gate: asked\n";
        let by = format!("{asked}    by: [worker, human]\n");
        let (stage, id) = start_with_workflow("exit 0", COUNTED, |text| text.replace(asked, &by));
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        stage.wait_until_idle(&id);
        write_status(&stage, &id, "held", "closed");
        let update = ["task", "update", id.as_str(), "--summary"];
        let output = stage.call(&[&update[..], &["Add two lines", "--wait", "1"]].concat());
        assert_eq!(output.0, 0, "{}", output.1);
        assert_eq!(stage.task(&id).summary, "Add two lines");
        assert_eq!(stage.task(&id).status.as_str(), "held");
        assert!(stage.task_text(&id).contains("status: held"));
        assert_eq!(rejections(&stage, &id), 0);
        stage.script("answer", answer);
        wait_for("the gate", || {
            let commands = stage.store().gate_commands(&id).unwrap();
            commands.iter().all(|it| it.answer.is_some())
        });
        // The next request brings the answer; for an ended task that request is refused.
        stage.call(&[&update[..], &["Add three lines", "--wait", "60"]].concat());
        assert_eq!(
            stage.task(&id).status.as_str(),
            status,
            "{}",
            stage.diagnostics(&id)
        );
        assert_eq!(
            rejections(&stage, &id),
            rejected,
            "{}",
            stage.diagnostics(&id)
        );
        assert_eq!(stage.store().pending_status_edit(&id).unwrap(), None);
    }
}

#[test]
fn a_branch_written_by_hand_is_reported_and_not_lost() {
    let (stage, id) = start_planned_task();
    let file = stage.worktree(&id).join("TASK.md");
    let text = fs::read_to_string(&file).unwrap();
    let branch = stage.task(&id).branch;
    let edited = text.replace(&format!("branch: {branch}"), "branch: better-name");
    let edited = edited.replace("summary: Add a line", "summary: Add the line");
    assert_ne!(edited, text);
    fs::write(&file, edited).unwrap();
    // All that a killed process did: the copy is current, and nothing was reported.
    store::project(&mut stage.store(), &id, clock::now()).unwrap();
    assert_eq!(stage.task(&id).attention, [""; 0]);
    let update = ["task", "update", id.as_str(), "--priority"];
    stage.run_ok(&[&update[..], &["1"]].concat());
    let task = stage.task(&id);
    assert_eq!((task.branch, task.summary.as_str()), (branch, "Add a line"));
    let attention = task.attention.join("\n");
    let command = format!("orange task update {id} --branch better-name");
    for part in ["`branch: better-name`", &command, "`summary: Add the line`"] {
        assert!(attention.contains(part), "{part}: {attention}");
    }
    assert!(stage.task_text(&id).contains("better-name"), "{attention}");
    assert_eq!(stage.store().pending_field_edits(&id).unwrap(), []);
    // It is reported once, and what orange itself changes is no edit.
    stage.run_ok(&["task", "update", id.as_str(), "--branch", "other-name"]);
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add lines"]);
    stage.run_ok(&[&update[..], &["2"]].concat());
    assert_eq!(stage.task(&id).attention.join("\n"), attention);
}
