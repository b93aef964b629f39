//! Runs without a worktree, which only read the repository.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::{Stage, wait_for};

fn started(script: &str) -> (Stage, TaskId) {
    let stage = Stage::new("local");
    stage.script("worker-1", script);
    let id = stage.create(&["Count the commits", "--context", "All of them."]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    (stage, id)
}

/// Has the end of the run judged by a command that checks the runs first.
fn judge(stage: &Stage, id: &TaskId) {
    wait_for("its end", || stage.panes() == ["worker:1"]);
    stage.call(&["task", "update", id.as_str(), "--summary", "Count them"]);
}

/// Seed 004, lines 38 to 40: no worktree for local jobs.
#[test]
fn a_run_without_a_worktree_has_a_directory_of_its_own() {
    let (stage, id) = started(
        "pwd > $SCRIPTS/directory\ncat TASK.md > $SCRIPTS/task\ngive prompt < $prompt_file\n\
         git -C \"$(sed -n 's/.*The repository of the project is \\(.*\\)\\. Only.*/\\1/p' \
         $prompt_file)\" rev-list --count main > count\n\
         echo '{\"status\":\"done\",\"summary\":\"1 commit\"}' > \"$ORANGE_REPORT\"\nexit 0",
    );
    judge(&stage, &id);
    stage.wait_for_status(&id, "done");
    let directory = stage.path(&format!("home/tasks/app/{id}/work"));
    let found = fs::read_to_string(stage.path("scripts/directory")).unwrap();
    assert_eq!(
        fs::canonicalize(found.trim()).unwrap(),
        fs::canonicalize(&directory).unwrap()
    );
    let task = fs::read_to_string(stage.path("scripts/task")).unwrap();
    assert!(task.contains("All of them."), "{task}");
    assert_eq!(fs::read_to_string(directory.join("count")).unwrap(), "1\n");
    // It took no worktree and no branch.
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
    let branches = stage.git("branch --format=%(refname:short)").stdout;
    assert_eq!(String::from_utf8(branches).unwrap(), "main\n");
    let worktrees = stage.git("worktree list --porcelain").stdout;
    let worktrees = String::from_utf8(worktrees).unwrap();
    assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
}

#[test]
fn a_repository_that_changed_during_such_a_run_needs_review() {
    for (change, named) in [
        ("echo more > file", "HEAD, the index or files of"),
        ("git commit -q --allow-empty -m second", "`refs/heads/main`"),
        ("git branch other", "`refs/heads/other`"),
        ("git tag v1", "`refs/tags/v1`"),
        ("git checkout -q --detach", "HEAD, the index or files of"),
    ] {
        let stage = Stage::new("local");
        let repository = stage.path("repo");
        stage.script(
            "worker-1",
            &format!(
                "cd {} && {change}\necho '{{\"status\":\"done\"}}' > \"$ORANGE_REPORT\"\nexit 0",
                repository.display()
            ),
        );
        let id = stage.create(&["Count the commits"]);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        judge(&stage, &id);
        stage.wait_for_status(&id, "needs_review");
        let attention = stage.run_ok(&["attention"]);
        let expected = "the repository changed during a run that may only read it";
        assert!(attention.contains(expected), "{change}: {attention}");
        let reason = stage.task(&id).report.unwrap().reason;
        assert!(reason.contains(named), "{change}: {reason}");
    }
}

#[test]
fn a_change_is_reported_even_if_the_run_reports_nothing() {
    let stage = Stage::new("local");
    let repository = stage.path("repo");
    let script = format!("git -C {} tag v1\nexit 7", repository.display());
    stage.script("worker-1", &script);
    let id = stage.create(&["Count the commits"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    judge(&stage, &id);
    stage.wait_for_status(&id, "needs_review");
    let reason = stage.task(&id).report.unwrap().reason;
    assert!(reason.contains("`refs/tags/v1`"), "{reason}");
}

#[test]
fn the_branches_of_other_tasks_may_change_meanwhile() {
    let (stage, id) = started(
        "pause go\necho '{\"status\":\"done\",\"summary\":\"it\"}' > \"$ORANGE_REPORT\"\nexit 0",
    );
    stage.script("worker-2", "commit one\nhang");
    let other = stage.create(&["--workflow", "autopilot", "--branch", "b", "Do it"]);
    stage.run_ok(&["task", "spawn", other.as_str(), "--wait", "60"]);
    wait_for("its commit", || stage.path("scripts/hangs").exists());
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the end", || {
        stage.panes().contains(&String::from("worker:1"))
    });
    stage.call(&["task", "update", id.as_str(), "--summary", "Count them"]);
    stage.wait_for_status(&id, "done");
}

/// A full pool holds back only starts that need a worktree.
#[test]
fn a_full_pool_does_not_hold_back_a_run_without_a_worktree() {
    let (stage, id) = started("hang");
    stage.configure("pool_size", &1.into());
    stage.wait_for_status(&id, "in_progress");
    stage.script("worker-2", "hang");
    let other = stage.create(&["--workflow", "autopilot", "--branch", "b", "Do it"]);
    stage.run_ok(&["task", "spawn", other.as_str(), "--wait", "60"]);
    stage.wait_for_status(&other, "in_progress");
    let third = stage.create(&["Count more"]);
    stage.run_ok(&["task", "spawn", third.as_str(), "--wait", "60"]);
    stage.wait_for_status(&third, "in_progress");
}
