//! The git facts that gates and users see.

use std::fs;

use orange_effects::git::{FactsRequest, Git, GitError, Operation};
use orange_engine::language::gates::GitCondition;
use orange_engine::language::gates::GitCondition::{
    BranchNotDefault, Clean, CommitsAhead, TaskFileUntracked,
};
use orange_engine::names::BranchName;

use crate::repo_fixture::{RepoFixture, environment};

fn facts(repo: &RepoFixture, git: &Git, branch: &str) -> Vec<GitCondition> {
    let worktree = git.worktree(&repo.slot()).unwrap();
    let ask = FactsRequest {
        branch: &BranchName::new(branch),
        default: &BranchName::new("main"),
        task_file: "TASK.md",
        start: None,
        commit: None,
    };
    let facts = worktree.facts(&ask).unwrap();
    let head = repo.git(&repo.app(), &["rev-parse", branch]);
    assert_eq!(facts.head.as_str(), head.trim());
    facts.met_conditions
}

#[test]
fn each_condition_holds_and_fails() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    assert_eq!(
        facts(&repo, &git, "fix"),
        [Clean, BranchNotDefault, TaskFileUntracked]
    );
    repo.commit(&repo.slot(), "work", "work\n");
    let all = [Clean, CommitsAhead, BranchNotDefault, TaskFileUntracked];
    assert_eq!(facts(&repo, &git, "fix"), all);
    fs::write(repo.slot().join("TASK.md"), "ignored\n").unwrap();
    assert_eq!(facts(&repo, &git, "fix"), all, "the task's file is ignored");
    // Lesson 5: no setting hides untracked files.
    repo.git(&repo.app(), &["config", "status.showUntrackedFiles", "no"]);
    fs::write(repo.slot().join("new"), "new\n").unwrap();
    assert_eq!(facts(&repo, &git, "fix"), all[1..]);
    fs::remove_file(repo.slot().join("new")).unwrap();
    assert_eq!(facts(&repo, &git, "main"), [TaskFileUntracked]);
}

#[test]
fn lesson_47_a_task_file_in_any_commit_is_seen() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("TASK.md"), "x\n").unwrap();
    repo.git(&repo.slot(), &["add", "-f", "TASK.md"]);
    assert!(
        !facts(&repo, &git, "fix").contains(&TaskFileUntracked),
        "staged"
    );
    repo.git(&repo.slot(), &["commit", "-q", "-m", "x"]);
    assert!(
        !facts(&repo, &git, "fix").contains(&TaskFileUntracked),
        "committed"
    );
    // A worktree is not clean with it, so that no agent hands it over.
    assert!(!facts(&repo, &git, "fix").contains(&Clean));
    repo.git(&repo.slot(), &["rm", "-q", "TASK.md"]);
    repo.git(&repo.slot(), &["commit", "-q", "-m", "y"]);
    assert!(
        !facts(&repo, &git, "fix").contains(&TaskFileUntracked),
        "in its history"
    );
}

#[test]
fn lesson_32_during_a_rebase_the_branch_is_known_and_nothing_is_clean() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.commit(&repo.slot(), "a", "a\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    repo.git(
        &repo.slot(),
        &["-c", sequence, "rebase", "-q", "-i", "main"],
    );
    let condition = git.worktree(&repo.slot()).unwrap().condition().unwrap();
    assert_eq!(condition.operations, [Operation::Rebase]);
    assert_eq!(condition.operation_branch, Some(BranchName::new("fix")));
    assert_eq!(condition.head.branch(), None);
    assert!(!condition.is_clean());
    assert!(!facts(&repo, &git, "fix").contains(&Clean));
}

#[test]
fn the_default_branch_is_found_in_order() {
    let repo = RepoFixture::new();
    // The configuration is read when the repository is opened.
    let found = || repo.open().default_branch(None).unwrap().to_string();
    assert_eq!(found(), "main");
    repo.git(&repo.app(), &["branch", "trunk"]);
    repo.git(&repo.app(), &["branch", "master"]);
    assert_eq!(found(), "main");
    fs::write(
        repo.path("home/.gitconfig"),
        "[init]\ndefaultBranch = trunk\n",
    )
    .unwrap();
    assert_eq!(found(), "trunk");
    repo.git(
        &repo.path(""),
        &["clone", "-q", "--bare", "app", "remote.git"],
    );
    let remote = repo.path("remote.git");
    repo.git(&remote, &["symbolic-ref", "HEAD", "refs/heads/master"]);
    let at = remote.display().to_string();
    repo.git(&repo.app(), &["remote", "add", "origin", &at]);
    repo.git(&repo.app(), &["fetch", "-q", "origin"]);
    repo.git(&repo.app(), &["remote", "set-head", "origin", "--auto"]);
    assert_eq!(found(), "master");
    let configured = BranchName::new("configured");
    let git = repo.open();
    assert_eq!(git.default_branch(Some(&configured)).unwrap(), configured);
}

#[test]
fn an_empty_repository_gets_a_hint() {
    let repo = RepoFixture::new();
    repo.git(&repo.path(""), &["init", "-q", "-b", "main", "empty"]);
    let git = Git::open("git", &repo.path("empty"), &repo.environment()).unwrap();
    let error = git.default_branch(None).unwrap_err();
    assert!(matches!(error, GitError::NoDefaultBranch(_)), "{error}");
    let error = git.base(&BranchName::new("main")).unwrap_err().to_string();
    assert!(error.contains("git commit"), "{error}");
}

#[test]
fn a_directory_without_a_repository_is_refused_with_gits_error() {
    let repo = RepoFixture::new();
    let nowhere = repo.path("home");
    let error = Git::open("git", &nowhere, &environment(&nowhere)).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("not a git repository") && error.contains("git init"),
        "{error}"
    );
    let git = Git::open("no-such-git", &repo.app(), &repo.environment()).unwrap();
    let error = git.worktree(&repo.app()).unwrap().condition().unwrap_err();
    assert!(error.to_string().contains("not found"), "{error}");
}

#[test]
fn a_sha256_repository_works() {
    let repo = RepoFixture::new();
    fs::remove_dir_all(repo.app()).unwrap();
    repo.git(
        &repo.path(""),
        &["init", "-q", "-b", "main", "--object-format=sha256", "app"],
    );
    repo.commit(&repo.app(), "a", "a\n");
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("a"), "changed\n").unwrap();
    fs::remove_file(repo.slot().join("a")).unwrap();
    repo.release(&git, "t1");
    let rescued = git
        .rescues(&orange_engine::names::TaskId::new("t1"))
        .unwrap();
    assert_eq!(rescued[0].commit.as_str().len(), 64);
    let back = repo.acquire(&git, "t1", "fix");
    back.worktree.restore(&rescued[0]).unwrap();
    assert!(!repo.slot().join("a").exists());
}
