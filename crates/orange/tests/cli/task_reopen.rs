//! `orange task reopen`.

use std::fs;

use orange_engine::role::Role;
use orange_engine::task::{RunState, Workspace};

use crate::support::{RunningSupervisor, Stage};

#[test]
fn a_cancelled_task_continues_with_its_branch_and_its_uncommitted_work() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "commit kept");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("work.txt"), "kept\nchanged\n").unwrap();
    fs::write(worktree.join("untracked.txt"), "new").unwrap();
    fs::write(worktree.join("staged.txt"), "staged").unwrap();
    let added = stage.git_in(&worktree, "add staged.txt");
    assert!(added.status.success());
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    assert_eq!(stage.task(&id).workspace, Workspace::None);
    // Another task may use the worktree in between.
    let other = stage.create(&["other", "Something else"]);
    stage.run_ok(&["task", "spawn", "other", "--wait", "60"]);
    stage.wait_for_turn("worker-2");
    let why = stage.run_ok(&["task", "why", "fix"]);
    assert!(why.contains(&format!("`orange task reopen {id}`")), "{why}");
    let output = stage.run_ok(&["task", "reopen", "fix", "--wait", "60"]);
    assert!(output.contains("from `cancelled` to `working`"), "{output}");
    stage.wait_for_turn("worker-3");
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "working");
    assert_eq!(task.runs[&Role::Worker].state, RunState::Alive);
    assert!(task.attention.is_empty(), "{:?}", task.attention);
    let worktree = stage.worktree(&id);
    let read = |name: &str| fs::read_to_string(worktree.join(name)).unwrap();
    assert_eq!(read("work.txt"), "kept\nchanged\n");
    assert_eq!(read("untracked.txt"), "new");
    assert_eq!(read("staged.txt"), "staged");
    let head = stage.git_in(&worktree, "log --format=%s -1").stdout;
    assert_eq!(String::from_utf8_lossy(&head).trim(), "kept");
    let branch = stage.git_in(&worktree, "branch --show-current").stdout;
    assert_eq!(String::from_utf8_lossy(&branch).trim(), "fix");
    assert!(worktree.join("TASK.md").exists());
    let history = stage.run_ok(&["task", "history", "fix"]);
    assert!(history.contains("the user reopened it"), "{history}");
    assert_ne!(stage.task(&other).workspace, task.workspace);
    stage.rebuild(&id);
    // A second time there is nothing to reopen.
    let (code, again) = stage.json(&["task", "reopen", "fix", "--json"]);
    assert_eq!(code, 3, "{again}");
    let missing = &again["error"]["details"]["refusal"]["missing"][0];
    assert_eq!(missing["code"], "not-cancelled", "{again}");
    // Work that is saved a second time, unchanged, is restored a second time.
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.run_ok(&["task", "reopen", "fix", "--wait", "60"]);
    let worktree = stage.worktree(&id);
    assert!(worktree.join("untracked.txt").exists());
}

#[test]
fn a_branch_that_a_retired_worktree_has_is_explained() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "commit kept");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let worktree = stage.worktree(&id);
    stage.git_in(&worktree, "init -q nested");
    fs::write(worktree.join("nested/work"), "only here\n").unwrap();
    stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let (_, listed) = stage.json(&["workspace", "list", "--json"]);
    assert_eq!(listed["workspaces"][0]["state"], "retired", "{listed}");
    let why = stage.run_ok(&["why", "fix"]);
    assert!(why.contains("orange workspace gc"), "{why}");
    let (code, text) = stage.call(&["task", "reopen", "fix", "--wait", "60"]);
    assert_ne!(code, 0, "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("still has the branch"), "{text}");
    assert!(text.contains("orange workspace gc"), "{text}");
}

#[test]
fn a_branch_that_was_deleted_is_back_at_the_submitted_commit() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let branch = stage.task(&id).branch;
    let head = stage.git_output("repo", &format!("rev-parse {branch}"));
    for is_lost in [false, true] {
        let worktree = stage.worktree(&id);
        stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        stage.git_output("repo", &format!("branch -D {branch}"));
        if is_lost {
            let moved = stage.git_in(&worktree, "checkout -q --detach main");
            assert!(moved.status.success(), "{moved:?}");
            let (folder, name) = head.split_at(2);
            fs::remove_file(stage.path(&format!("repo/.git/objects/{folder}/{name}"))).unwrap();
        }
        stage.run_ok(&["task", "reopen", id.as_str(), "--wait", "60"]);
        let now = stage.git_output("repo", &format!("rev-parse {branch}"));
        let main = stage.git_output("repo", "rev-parse main");
        assert_eq!(now, if is_lost { main } else { head.clone() });
        let attention = stage.task(&id).attention.join("; ");
        assert!(attention.contains("was gone"), "{attention}");
        let short = head.get(..12).unwrap();
        assert!(attention.contains(short), "{attention}");
        let has_lost = attention.contains("no longer has");
        assert_eq!(has_lost, is_lost, "{attention}");
    }
}

#[test]
fn a_reopened_task_counts_towards_the_limits() {
    let stage = Stage::new("minimal");
    let _serving = RunningSupervisor::start(&stage);
    fs::write(stage.path("home/config.toml"), "[limits]\nagents = 1\n").unwrap();
    let one = stage.create(&["one", "First"]);
    stage.run_ok(&["task", "spawn", "one", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    stage.run_ok(&["task", "cancel", "one", "--wait", "60"]);
    let two = stage.create(&["two", "Second"]);
    stage.run_ok(&["task", "spawn", "two", "--wait", "60"]);
    stage.wait_for_turn("worker-2");
    let (code, refused) = stage.json(&["task", "reopen", "one", "--json"]);
    assert_eq!(code, 3, "{refused}");
    let missing = &refused["error"]["details"]["refusal"]["missing"][0];
    assert_eq!(missing["code"], "held-back", "{refused}");
    assert_eq!(stage.task(&one).status.as_str(), "cancelled");
    // A stopped agent keeps its place; a cancelled task does not.
    stage.run_ok(&["task", "stop", "two", "--wait", "60"]);
    let (code, refused) = stage.call(&["task", "reopen", "one"]);
    assert_eq!(code, 3, "{refused}");
    stage.run_ok(&["task", "cancel", "two", "--wait", "60"]);
    stage.run_ok(&["task", "reopen", "one", "--wait", "60"]);
    stage.wait_for_turn("worker-3");
    let (code, refused) = stage.call(&["task", "reopen", "two"]);
    assert_eq!(code, 3, "{refused}");
    assert_eq!(stage.task(&two).status.as_str(), "cancelled");
}

#[test]
fn what_cannot_be_reopened_is_refused() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        "commit one; echo 'DONE: one' | section Handoff; ask task update --status reviewing",
    );
    let merged = stage.create(&["merged", "First"]);
    stage.run_ok(&["task", "spawn", "merged", "--wait", "60"]);
    stage.wait_for_status(&merged, "reviewing");
    stage.run_ok(&["task", "merge", "merged", "--wait", "60"]);
    let (code, output) = stage.call(&["task", "reopen", merged.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("only a cancelled task can be reopened"),
        "{output}"
    );
    assert!(output.contains("`orange task create`"), "{output}");
    assert_eq!(stage.task(&merged).status.as_str(), "done");
    // Another task has its branch by now.
    let first = stage.create(&["shared", "First"]);
    stage.run_ok(&["task", "cancel", first.as_str(), "--wait", "60"]);
    let second = stage.create(&["shared", "Second"]);
    let (code, refused) = stage.json(&["task", "reopen", first.as_str(), "--json"]);
    assert_eq!(code, 3, "{refused}");
    assert_eq!(refused["error"]["code"], "branch-taken", "{refused}");
    stage.run_ok(&["task", "cancel", second.as_str(), "--wait", "60"]);
    // A task that waited in its queue waits there again; a deleted one must be restored first.
    stage.run_ok(&["task", "delete", first.as_str(), "--yes"]);
    let (code, refused) = stage.json(&["task", "reopen", first.as_str(), "--json"]);
    assert_eq!(
        (code, &refused["error"]["code"]),
        (3, &"task-deleted".into())
    );
    stage.run_ok(&["task", "delete", first.as_str(), "--undo"]);
    stage.run_ok(&["task", "reopen", first.as_str()]);
    let task = stage.task(&first);
    assert_eq!(task.status.as_str(), "pending");
    assert_eq!(task.workspace, Workspace::None);
}
