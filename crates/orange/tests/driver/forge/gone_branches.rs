//! Pull requests that were merged elsewhere, and whose branch is gone.

use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::TaskId;
use scripted_forge::world::merge::Method;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

/// Deletes the branch on the remote, here, and what git remembers of it.
fn delete_branch(it: &ForgeStage, branch: &str) {
    it.forge.delete_branch(REPOSITORY, branch);
    it.stage
        .git_output("repo", &format!("branch -q -D {branch}"));
    it.stage.git_output("repo", "fetch -q --prune origin");
}

/// A task in review, with a pull request that was merged elsewhere and whose
/// branch is gone.
fn merged(it: &ForgeStage, method: Method) -> TaskId {
    let (id, _) = it.task_for_issue("reviewing");
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    let number = it.stage.task(&id).pull_request.unwrap().number;
    it.merge_elsewhere(number, method);
    // Git deletes no branch that a worktree is on.
    git(it, &worktree(it, &id), "checkout -q --detach");
    delete_branch(it, "work");
    id
}

fn worktree(it: &ForgeStage, id: &TaskId) -> PathBuf {
    let workspace = it.stage.store().workspace_of(id).unwrap();
    workspace.unwrap().path
}

fn git(it: &ForgeStage, folder: &Path, arguments: &str) -> String {
    it.stage.git_output(folder.to_str().unwrap(), arguments)
}

fn commit(it: &ForgeStage, folder: &Path, name: &str) {
    fs::write(folder.join(name), "more\n").unwrap();
    git(it, folder, &format!("add {name}"));
    git(it, folder, &format!("commit -q -m {name}"));
}

fn attention(it: &ForgeStage, id: &TaskId) -> String {
    it.stage.task(id).attention.join("\n")
}

#[test]
fn a_merge_that_git_confirms_ends_the_task() {
    for method in [Method::Merge, Method::Squash, Method::Rebase] {
        let it = ForgeStage::new("minimal");
        let id = merged(&it, method);
        it.look(&id);
        it.stage.wait_for_status(&id, "done");
        it.stage.wait_until_idle(&id);
        assert_eq!(attention(&it, &id), "");
    }
}

#[test]
fn the_supervisor_ends_the_task_once_the_base_has_the_work() {
    let it = ForgeStage::new("minimal");
    let config = "[forge]\npoll = \"1s\"\ncold = \"1s\"\nshare = 100\n";
    fs::write(it.stage.path("home/config.toml"), config).unwrap();
    let before = it.forge.tip(REPOSITORY, "main").unwrap();
    let id = merged(&it, Method::Squash);
    let after = it.forge.tip(REPOSITORY, "main").unwrap();
    let base = |commit: &str| {
        let path = it.forge.path(REPOSITORY);
        git(&it, &path, &format!("update-ref refs/heads/main {commit}"));
    };
    base(&before);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a notice", || attention(&it, &id).contains("does not have"));
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    assert_eq!(it.stage.task(&id).attention.len(), 1);
    base(&after);
    it.stage.wait_for_status(&id, "done");
}

#[test]
fn commits_that_cannot_be_found_need_the_user() {
    let it = ForgeStage::new("minimal");
    let id = merged(&it, Method::Squash);
    let path = it.forge.path(REPOSITORY);
    let head = git(&it, &path, "rev-parse refs/pull/2/head");
    git(&it, &path, "update-ref -d refs/pull/2/head");
    for _ in 0..3 {
        it.look(&id);
    }
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    let told = it.stage.task(&id).attention;
    let [reason] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        reason.contains("`work` is gone and git cannot confirm it"),
        "{reason}"
    );
    assert!(
        reason.contains(&format!("`orange forge look {id}`")),
        "{reason}"
    );
    git(&it, &path, &format!("update-ref refs/pull/2/head {head}"));
    it.look(&id);
    it.stage.wait_for_status(&id, "done");
}

#[test]
fn a_submitted_commit_that_the_request_lost_confirms_nothing() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    let branch = format!("orange-tasks/{id}");
    let worktree = worktree(&it, &id);
    // Others replaced the commits of the request, and merged theirs.
    git(&it, &worktree, "checkout -q --detach main");
    commit(&it, &worktree, "other.txt");
    git(
        &it,
        &worktree,
        &format!("push -q -f origin HEAD:refs/heads/{branch}"),
    );
    it.merge_elsewhere(1, Method::Merge);
    git(&it, &worktree, "checkout -q --detach main");
    delete_branch(&it, &branch);
    git(&it, &worktree, "reflog expire --expire=now --all");
    it.stage
        .git_output("repo", "reflog expire --expire=now --all");
    it.stage.git_output("repo", "gc -q --prune=now");
    it.look(&id);
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    let told = attention(&it, &id);
    assert!(
        told.contains("neither here nor in the pull request"),
        "{told}"
    );
}

#[test]
fn a_worktree_with_commits_of_its_own_keeps_the_task() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.merge_elsewhere(1, Method::Squash);
    let worktree = worktree(&it, &id);
    git(&it, &worktree, "checkout -q --detach");
    delete_branch(&it, &format!("orange-tasks/{id}"));
    commit(&it, &worktree, "later.txt");
    it.look(&id);
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    let told = attention(&it, &id);
    assert!(told.contains("its worktree has commits"), "{told}");
    assert!(told.contains(&worktree.display().to_string()), "{told}");
    git(&it, &worktree, "reset -q --hard HEAD^");
    it.look(&id);
    it.stage.wait_for_status(&id, "done");
}

/// What cannot be decided about one task keeps no other one waiting.
#[test]
fn a_task_whose_worktree_is_gone_delays_no_other() {
    let it = ForgeStage::new("minimal");
    let config = "[forge]\npoll = \"1s\"\ncold = \"1s\"\nshare = 100\n";
    fs::write(it.stage.path("home/config.toml"), config).unwrap();
    let mut tasks = Vec::new();
    for (turn, file) in [("worker-1", "one"), ("worker-2", "two")] {
        let work = format!(
            "\
echo more > {file}; git add {file}; git commit -qm {file}
echo 'DONE: it' | section Handoff
ask task update --status reviewing
"
        );
        it.stage.script(turn, &work);
        let id = it.stage.create(&["Add a line"]);
        it.stage.run_ok(&["task", "spawn", id.as_str()]);
        it.stage.wait_for_status(&id, "reviewing");
        it.stage.wait_until_idle(&id);
        it.stage.run_ok(&["task", "pr", id.as_str()]);
        tasks.push(id);
    }
    // The first in the order of the poller is the one that fails.
    tasks.sort();
    let [broken, other] = &tasks[..] else {
        panic!("{tasks:?}");
    };
    fs::remove_dir_all(worktree(&it, broken)).unwrap();
    for id in [broken, other] {
        let number = it.stage.task(id).pull_request.unwrap().number;
        it.merge_elsewhere(number, Method::Squash);
    }
    let _supervisor = RunningSupervisor::start(&it.stage);
    it.stage.wait_for_status(other, "done");
}
