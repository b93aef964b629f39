//! A request in the merge queue is not merged yet.

use orange_engine::names::TaskId;
use scripted_forge::Protection;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

/// A task whose merge waits in the queue.
fn queued() -> (ForgeStage, TaskId) {
    let it = ForgeStage::new("minimal");
    let protection = Protection {
        queue: true,
        ..Protection::default()
    };
    it.forge.protect(REPOSITORY, "main", protection);
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str(), "--ready"]);
    it.stage
        .call(&["task", "merge", id.as_str(), "--yes", "--wait", "1"]);
    wait_for("the queue", || enqueued(&it) == 1);
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    (it, id)
}

fn enqueued(it: &ForgeStage) -> usize {
    let writes = it.forge.writes();
    let writes = writes.iter();
    writes.filter(|it| it.operation.contains("enqueue")).count()
}

#[test]
fn a_merge_in_the_queue_counts_when_it_is_in_git() {
    let (it, id) = queued();
    let _supervisor = RunningSupervisor::start(&it.stage);
    let before = it.stage.git_output("repo", "rev-parse main");
    it.look(&id);
    assert_eq!(
        it.stage.task(&id).status.as_str(),
        "reviewing",
        "not merged"
    );
    assert_eq!(it.stage.git_output("repo", "rev-parse main"), before);
    assert_eq!(it.forge.advance_queue(REPOSITORY, "main", true), Some(1));
    it.stage.wait_for_status(&id, "done");
    assert_ne!(it.stage.git_output("repo", "rev-parse main"), before);
    assert_eq!(enqueued(&it), 1);
}

#[test]
fn one_removed_from_the_queue_needs_the_user_and_is_not_enqueued_again() {
    let (it, id) = queued();
    let _supervisor = RunningSupervisor::start(&it.stage);
    assert_eq!(it.forge.advance_queue(REPOSITORY, "main", false), Some(1));
    wait_for("attention", || !it.stage.task(&id).attention.is_empty());
    let attention = it.stage.task(&id).attention.join("\n");
    assert!(attention.contains("left the merge queue"), "{attention}");
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    assert_eq!(enqueued(&it), 1);
    // The user's next attempt is a new one.
    it.stage
        .call(&["task", "merge", id.as_str(), "--yes", "--wait", "1"]);
    wait_for("the queue again", || enqueued(&it) == 2);
    assert_eq!(it.forge.advance_queue(REPOSITORY, "main", true), Some(1));
    it.stage.wait_for_status(&id, "done");
}
