//! Retry, unblock and combined updates change only what they name.

use std::fs;

use orange_engine::names::{ProjectName, TaskId};
use orange_engine::task::Workspace;
use orange_store::WorkspaceState;

use crate::stage::Stage;
use crate::supervisor::Serving;
use crate::terminal::Terminal;

/// A task of `minimal` whose work waits to be merged.
fn reviewed(stage: &Stage) -> TaskId {
    stage.script(
        "worker-1",
        "commit one
printf 'DONE: it\\n' | section Handoff
ask task complete",
    );
    let id = stage.create(&["fix", "Add a line"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_for_rest(&id);
    id
}

#[test]
fn retry_after_a_failed_merge_merges_and_does_not_send_the_work_back() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let in_the_way = stage.path("repo/work.txt");
    fs::write(&in_the_way, "mine").unwrap();
    let (code, said) = stage.call(&["task", "merge", "fix", "--wait", "60"]);
    assert_eq!(code, 3, "{said}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    fs::remove_file(&in_the_way).unwrap();
    stage.must(&["task", "retry", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "done");
    assert_eq!(fs::read(&in_the_way).unwrap(), b"one\n");
    let history = stage.must(&["task", "history", "fix"]);
    assert!(!history.contains("reviewing → working"), "{history}");
}

#[test]
fn reviewed_work_is_not_sent_back_by_a_retry_without_words() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let (code, said) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{said}");
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    stage.must(&["task", "request-changes", "fix", "-m", "Add a second line"]);
    assert_eq!(stage.task(&id).status.as_str(), "working");
}

#[test]
fn a_running_agent_is_neither_unblocked_nor_retried() {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    let headless = "[args.headless]\nfull = [\"--prompt-file\", \"{prompt_file}\"]\n";
    fs::write(&path, format!("{text}{headless}")).unwrap();
    stage.script("worker-1", "hang");
    let id = stage.create(&["fix", "Add a line"]);
    for _ in ["routed", "in_progress"] {
        stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    }
    assert_eq!(stage.task(&id).status.as_str(), "in_progress");
    stage.wait_for_rest(&id);
    let before = stage.task(&id).runs;
    let said = stage.must(&["task", "unblock", "--all"]);
    assert!(said.contains("no task is blocked"), "{said}");
    let (code, said) = stage.call(&["task", "unblock", "fix"]);
    assert_eq!(code, 3, "{said}");
    let (code, said) = stage.call(&["task", "retry", "fix"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("the worker still runs"), "{said}");
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "in_progress");
    assert_eq!(task.runs, before, "the same agent is at it");
}

#[test]
fn summary_branch_and_status_are_changed_together_or_not_at_all() {
    let stage = Stage::new("default");
    let (_, created) = stage.json(&["task", "create", "fix", "--json", "--wait", "60"]);
    let id = TaskId::new(created["task"]["id"].as_str().unwrap());
    assert_eq!(stage.task(&id).status.as_str(), "clarification");
    stage.wait_for_rest(&id);
    // Without a plan there is no way to `working`.
    let asked = ["task", "update", "fix", "--summary", "Known now"];
    let (code, said) = stage.call(&[&asked[..], &["--status", "working"]].concat());
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(stage.task(&id).summary, "");

    let both = ["--branch", "better", "--status", "planning"];
    let said = stage.must(&[&asked[..], &both[..]].concat());
    assert!(
        said.contains("from `clarification` to `planning`"),
        "{said}"
    );
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "planning");
    assert_eq!(task.summary, "Known now");
    assert_eq!(task.branch.as_str(), "better");

    // Asked for again, there is nothing left to do.
    let again = [&asked[..2], &["better"], &asked[3..], &both[2..]].concat();
    let said = stage.must(&again);
    assert!(said.contains("already"), "{said}");
    stage.rebuild(&id);
}

#[test]
fn a_branch_gets_the_name_that_is_given_and_its_session_too() {
    let stage = Stage::new("default");
    let id = stage.create(&["old", "Add a line"]);
    stage.must(&["task", "spawn", "old", "--wait", "60"]);
    stage.wait_for_rest(&id);
    let sessions = || stage.tmux(&["list-sessions", "-F", "#{session_name}"]);
    assert_eq!(sessions().trim(), "app/old");
    let said = stage.must(&["task", "update", "old", "--branch", "new"]);
    assert!(said.contains("on branch `new`"), "{said}");
    let worktree = stage.worktree(&id);
    let on = stage.git_in(&worktree, "branch --show-current").stdout;
    assert_eq!(String::from_utf8(on).unwrap().trim(), "new");
    assert!(
        !stage
            .git("rev-parse --verify -q refs/heads/old")
            .status
            .success()
    );
    assert_eq!(sessions().trim(), "app/new");

    // A name that another task or branch has is not taken, and nothing is renamed.
    stage.create(&["taken", "Another"]);
    assert!(stage.git("branch exists").status.success());
    for name in ["taken", "exists", "main"] {
        let (code, said) = stage.call(&["task", "update", "new", "--branch", name]);
        assert_ne!(code, 0, "{name}: {said}");
        let on = stage.git_in(&worktree, "branch --show-current").stdout;
        assert_eq!(
            String::from_utf8(on).unwrap().trim(),
            "new",
            "{name}: {said}"
        );
        assert_eq!(stage.task(&id).branch.as_str(), "new");
    }
    // What somebody renamed by hand is adopted, and the session follows.
    assert!(stage.git_in(&worktree, "branch -m byhand").status.success());
    stage.must(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(stage.task(&id).branch.as_str(), "byhand");
    assert_eq!(sessions().trim(), "app/byhand");
}

#[test]
fn a_person_at_a_terminal_is_asked_before_a_task_is_cancelled() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let asked = Terminal::start(&stage, "no", 120, "orange task cancel fix");
    asked.wait_for("Cancel ");
    asked.press(&["n", "Enter"]);
    let screen = asked.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let confirmed = Terminal::start(&stage, "yes", 120, "orange task cancel fix --yes");
    let screen = confirmed.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    // Nobody is asked where nobody can answer.
    let other = stage.create(&["other", "Another"]);
    stage.must(&["task", "cancel", "other"]);
    assert_eq!(stage.task(&other).status.as_str(), "cancelled");
}

#[test]
fn a_pool_that_was_made_smaller_stays_small() {
    let stage = Stage::new("minimal");
    stage.must(&["project", "update", "app", "--pool-size", "2"]);
    for branch in ["one", "two"] {
        stage.create(&[branch, "Add a line"]);
        stage.must(&["task", "spawn", branch, "--wait", "60"]);
    }
    for branch in ["one", "two"] {
        stage.must(&["task", "cancel", branch, "--wait", "60"]);
    }
    stage.must(&["project", "update", "app", "--pool-size", "1"]);
    let bound = || {
        let all = stage.store().workspaces(&ProjectName::new("app")).unwrap();
        let bound = all.iter();
        let bound = bound.filter(|it| matches!(it.state, WorkspaceState::Bound(_)));
        bound.count()
    };
    for branch in ["three", "four"] {
        stage.create(&[branch, "Add a line"]);
        stage.call(&["task", "spawn", branch, "--wait", "60"]);
    }
    assert_eq!(bound(), 1);
}

#[test]
fn a_merge_is_answered_when_worktree_and_remote_branch_are_released() {
    let stage = Stage::new("minimal");
    let remote = stage.add_remote();
    let serving = Serving::on(&stage);
    let id = reviewed(&stage);
    assert!(stage.git("push -q origin fix").status.success());
    stage.must(&["task", "merge", "fix", "--wait", "60"]);
    let task = stage.task(&id);
    assert_eq!(task.status.as_str(), "done");
    assert_eq!(task.workspace, Workspace::None);
    let left = stage.git_in(&remote, "rev-parse --verify -q refs/heads/fix");
    assert!(!left.status.success(), "the remote still has the branch");
    drop(serving);
}
