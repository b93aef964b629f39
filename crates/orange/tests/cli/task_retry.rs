//! `orange task retry`: what is repeated, and what is left alone.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::json;

use crate::support::{Stage, wait_for};

#[test]
fn retry_takes_the_verb_where_nothing_failed() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan
ask task update --status working
ask task stuck -m help",
    );
    let id = stage.create(&["fix", "Fix it"]);
    insta::assert_snapshot!(stage.transcript(&["task", "retry", "fix"]));
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    stage.wait_until_idle(&id);
    stage.run_ok(&[
        "task",
        "retry",
        "fix",
        "-m",
        "Use the other key",
        "--wait",
        "60",
    ]);
    assert_eq!(stage.task(&id).status.as_str(), "working");
    let history = stage.run_ok(&["task", "history", "fix"]);
    assert!(history.contains("saying: Use the other key"), "{history}");
}

#[test]
fn retry_repeats_what_failed_and_leaves_the_status_alone() {
    let stage = Stage::new("default");
    // A task created in review needs a workspace at once, and nothing puts it back into a queue.
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let begin = [
        "task",
        "create",
        "fix",
        "Look at it",
        "--status",
        "reviewing",
        "--wait",
        "60",
    ];
    let (code, output) = stage.call(&begin);
    assert_eq!(code, 6, "{output}");
    let id = stage.driver().callers.resolve_task(Some("fix")).unwrap();
    stage.configure("setup", &json!([]));
    assert!(
        stage
            .store()
            .workspace_of(&id)
            .unwrap()
            .is_none_or(|it| { !matches!(it.state, orange_store::WorkspaceState::Bound(_)) })
    );
    stage.run_ok(&["task", "retry", "fix", "--wait", "60"]);
    wait_for("the workspace", || {
        stage.store().workspace_of(&id).unwrap().is_some()
    });
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    let (code, output) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("is not available"), "{output}");
}

/// A task of `minimal` whose work is ready to merge.
pub fn create_reviewed_task(stage: &Stage) -> TaskId {
    stage.script(
        "worker-1",
        "commit one
printf 'DONE: it\\n' | section Handoff
ask task complete",
    );
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    id
}

#[test]
fn retry_after_a_failed_merge_merges_and_does_not_send_the_work_back() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let in_the_way = stage.path("repo/work.txt");
    fs::write(&in_the_way, "mine").unwrap();
    let (code, output) = stage.call(&["task", "merge", "fix", "--wait", "60"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    fs::remove_file(&in_the_way).unwrap();
    stage.run_ok(&["task", "retry", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "done");
    assert_eq!(fs::read(&in_the_way).unwrap(), b"one\n");
    let history = stage.run_ok(&["task", "history", "fix"]);
    assert!(!history.contains("reviewing → working"), "{history}");
}

#[test]
fn reviewed_work_is_not_sent_back_by_a_retry_without_words() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let (code, output) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    stage.run_ok(&["task", "request-changes", "fix", "-m", "Add a second line"]);
    assert_eq!(stage.task(&id).status.as_str(), "working");
}
