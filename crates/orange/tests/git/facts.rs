//! The git facts that gates and users see.

use std::fs;

use orange_effects::git::{FactsRequest, Git, GitError, Operation};
use orange_engine::language::gates::GitCondition;
use orange_engine::language::gates::GitCondition::{
    BranchNotDefault, Clean, CommitsAhead, TaskFileUntracked,
};
use orange_engine::names::BranchName;

use crate::repo_fixture::{RepoFixture, environment};

fn facts(yard: &RepoFixture, git: &Git, branch: &str) -> Vec<GitCondition> {
    let worktree = git.worktree(&yard.slot()).unwrap();
    let ask = FactsRequest {
        branch: &BranchName::new(branch),
        default: &BranchName::new("main"),
        task_file: "TASK.md",
        commit: None,
    };
    let facts = worktree.facts(&ask).unwrap();
    let head = yard.git(&yard.app(), &["rev-parse", branch]);
    assert_eq!(facts.head.as_str(), head.trim());
    facts.met_conditions
}

#[test]
fn each_condition_holds_and_fails() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    assert_eq!(
        facts(&yard, &git, "fix"),
        [Clean, BranchNotDefault, TaskFileUntracked]
    );
    yard.commit(&yard.slot(), "work", "work\n");
    let all = [Clean, CommitsAhead, BranchNotDefault, TaskFileUntracked];
    assert_eq!(facts(&yard, &git, "fix"), all);
    fs::write(yard.slot().join("TASK.md"), "ignored\n").unwrap();
    assert_eq!(facts(&yard, &git, "fix"), all, "the task's file is ignored");
    // Lesson 5: no setting hides untracked files.
    yard.git(&yard.app(), &["config", "status.showUntrackedFiles", "no"]);
    fs::write(yard.slot().join("new"), "new\n").unwrap();
    assert_eq!(facts(&yard, &git, "fix"), all[1..]);
    fs::remove_file(yard.slot().join("new")).unwrap();
    assert_eq!(facts(&yard, &git, "main"), [TaskFileUntracked]);
}

#[test]
fn lesson_47_a_task_file_that_was_ever_committed_is_seen() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("TASK.md"), "x\n").unwrap();
    yard.git(&yard.slot(), &["add", "-f", "TASK.md"]);
    assert!(
        !facts(&yard, &git, "fix").contains(&TaskFileUntracked),
        "staged"
    );
    yard.git(&yard.slot(), &["commit", "-q", "-m", "x"]);
    assert!(
        !facts(&yard, &git, "fix").contains(&TaskFileUntracked),
        "committed"
    );
    yard.git(&yard.slot(), &["rm", "-q", "TASK.md"]);
    yard.git(&yard.slot(), &["commit", "-q", "-m", "y"]);
    assert!(
        !facts(&yard, &git, "fix").contains(&TaskFileUntracked),
        "in its history"
    );
}

#[test]
fn lesson_32_during_a_rebase_the_branch_is_known_and_nothing_is_clean() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.commit(&yard.slot(), "a", "a\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    yard.git(
        &yard.slot(),
        &["-c", sequence, "rebase", "-q", "-i", "main"],
    );
    let condition = git.worktree(&yard.slot()).unwrap().condition().unwrap();
    assert_eq!(condition.operations, [Operation::Rebase]);
    assert_eq!(condition.operation_branch, Some(BranchName::new("fix")));
    assert_eq!(condition.head.branch(), None);
    assert!(!condition.is_clean());
    assert!(!facts(&yard, &git, "fix").contains(&Clean));
}

#[test]
fn the_default_branch_is_found_in_order() {
    let yard = RepoFixture::new();
    // The configuration is read when the repository is opened.
    let found = || yard.open().default_branch(None).unwrap().to_string();
    assert_eq!(found(), "main");
    yard.git(&yard.app(), &["branch", "trunk"]);
    yard.git(&yard.app(), &["branch", "master"]);
    assert_eq!(found(), "main");
    fs::write(
        yard.path("home/.gitconfig"),
        "[init]\ndefaultBranch = trunk\n",
    )
    .unwrap();
    assert_eq!(found(), "trunk");
    yard.git(
        &yard.path(""),
        &["clone", "-q", "--bare", "app", "remote.git"],
    );
    let remote = yard.path("remote.git");
    yard.git(&remote, &["symbolic-ref", "HEAD", "refs/heads/master"]);
    let at = remote.display().to_string();
    yard.git(&yard.app(), &["remote", "add", "origin", &at]);
    yard.git(&yard.app(), &["fetch", "-q", "origin"]);
    yard.git(&yard.app(), &["remote", "set-head", "origin", "--auto"]);
    assert_eq!(found(), "master");
    let configured = BranchName::new("configured");
    let git = yard.open();
    assert_eq!(git.default_branch(Some(&configured)).unwrap(), configured);
}

#[test]
fn a_repository_without_a_commit_says_what_to_do() {
    let yard = RepoFixture::new();
    yard.git(&yard.path(""), &["init", "-q", "-b", "main", "empty"]);
    let git = Git::open("git", &yard.path("empty"), &yard.environment()).unwrap();
    let error = git.default_branch(None).unwrap_err();
    assert!(matches!(error, GitError::NoDefaultBranch(_)), "{error}");
    let error = git.base(&BranchName::new("main")).unwrap_err().to_string();
    assert!(error.contains("git commit"), "{error}");
}

#[test]
fn what_is_no_repository_is_refused_with_gits_words() {
    let yard = RepoFixture::new();
    let nowhere = yard.path("home");
    let error = Git::open("git", &nowhere, &environment(&nowhere)).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("not a git repository") && error.contains("git init"),
        "{error}"
    );
    let git = Git::open("no-such-git", &yard.app(), &yard.environment()).unwrap();
    let error = git.worktree(&yard.app()).unwrap().condition().unwrap_err();
    assert!(error.to_string().contains("not found"), "{error}");
}

#[test]
fn a_sha256_repository_works() {
    let yard = RepoFixture::new();
    fs::remove_dir_all(yard.app()).unwrap();
    yard.git(
        &yard.path(""),
        &["init", "-q", "-b", "main", "--object-format=sha256", "app"],
    );
    yard.commit(&yard.app(), "a", "a\n");
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("a"), "changed\n").unwrap();
    fs::remove_file(yard.slot().join("a")).unwrap();
    yard.release(&git, "t1");
    let rescued = git
        .rescues(&orange_engine::names::TaskId::new("t1"))
        .unwrap();
    assert_eq!(rescued[0].commit.as_str().len(), 64);
    let back = yard.acquire(&git, "t1", "fix");
    back.worktree.restore(&rescued[0]).unwrap();
    assert!(!yard.slot().join("a").exists());
}
