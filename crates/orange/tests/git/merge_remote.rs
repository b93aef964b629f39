//! Merging with a remote: pushed first, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orange_effects::git::{Deletion, GitError, MergeObstacle, MergeOutcome, PushResult};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::BranchName;

use crate::merge::{ALL, MergeParameters, add_remote, advance, branch, tip};
use crate::repo_fixture::{RepoFixture, files};

/// Installs a hook in the remote.
fn hook(remote: &Path, name: &str, script: &str) {
    let path = remote.join("hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A commit that another clone pushes to `main`.
fn others_push(repo: &RepoFixture, file: &str) -> String {
    let other = repo.path("other");
    if !other.exists() {
        repo.git(&repo.path(""), &["clone", "-q", "remote.git", "other"]);
    }
    repo.git(&other, &["pull", "-q", "--rebase"]);
    let commit = repo.commit(&other, file, "of others\n");
    repo.git(&other, &["push", "-q", "origin", "main"]);
    commit
}

fn main_of(repo: &RepoFixture, directory: &str) -> String {
    tip(repo, &repo.path(directory), "refs/heads/main")
}

#[test]
fn every_strategy_reaches_the_remote() {
    for strategy in ALL {
        let repo = RepoFixture::new();
        branch(&repo);
        add_remote(&repo);
        let commit = MergeParameters::now(&repo, strategy)
            .with_push()
            .merge(&repo.open());
        assert_eq!(main_of(&repo, "remote.git"), commit);
        assert_eq!(main_of(&repo, "app"), commit);
        assert_eq!(tip(&repo, &repo.app(), "refs/remotes/origin/main"), commit);
    }
}

#[test]
fn a_remote_changes_only_when_a_push_is_requested() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    let before = main_of(&repo, "remote.git");
    let parameters = MergeParameters::now(&repo, MergeStrategy::Ff);
    let commit = parameters.merge(&repo.open());
    assert_eq!(main_of(&repo, "app"), commit);
    assert_eq!(main_of(&repo, "remote.git"), before);
    // Asked again with the remote, only the missing part is done.
    assert_eq!(parameters.with_push().merge(&repo.open()), commit);
    assert_eq!(main_of(&repo, "remote.git"), commit);
}

#[test]
fn a_rejected_push_moves_nothing() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    hook(
        &remote,
        "pre-receive",
        "echo 'no merges on Sunday' >&2; exit 1",
    );
    let before = (repo.branches(), files(&repo.app()));
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge).with_push();
    let MergeObstacle::Rejected {
        remote: name,
        message,
    } = parameters.obstacle(&repo.open())
    else {
        panic!("it was not rejected");
    };
    assert_eq!(name, format!("origin ({})", remote.display()));
    assert!(message.contains("no merges on Sunday"), "{message}");
    assert_eq!((repo.branches(), files(&repo.app())), before);
    fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
    let commit = parameters.merge(&repo.open());
    assert_eq!(main_of(&repo, "remote.git"), commit);
}

#[test]
fn a_remote_that_has_moved_is_included() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    let remote_commit = others_push(&repo, "theirs");
    let before = (repo.branches(), files(&repo.app()));
    let parameters = MergeParameters::now(&repo, MergeStrategy::Ff).with_push();
    let obstacle = parameters.obstacle(&repo.open());
    let MergeObstacle::DefaultMoved { found, .. } = &obstacle else {
        panic!("{obstacle:?}");
    };
    assert_eq!(found.as_str(), remote_commit);
    assert_eq!((repo.branches(), files(&repo.app())), before);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Squash).with_push();
    let commit = parameters.merge(&repo.open());
    let parent = tip(&repo, &repo.app(), &format!("{commit}^"));
    assert_eq!(parent, remote_commit);
    assert_eq!(main_of(&repo, "app"), commit);
    assert_eq!(main_of(&repo, "remote.git"), commit);
    assert!(
        repo.app().join("theirs").exists(),
        "the checkout was updated too"
    );
    assert_eq!(parameters.merge(&repo.open()), commit, "it is there");
}

#[test]
fn a_remote_that_moves_during_the_push_is_merged_in_another_round() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    repo.git(&repo.path(""), &["clone", "-q", "remote.git", "other"]);
    let late = repo.commit(&repo.path("other"), "theirs", "of others\n");
    let script = format!(
        "if [ \"$2\" = push ]; then (unset $(env | sed -n 's/^\\(GIT_[A-Z0-9_]*\\)=.*/\\1/p')\n\
         $real -C {} push -q origin main); fi\nexec $real \"$@\"",
        repo.path("other").display()
    );
    let program = repo.wrapper("late", &script);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge).with_push();
    let commit = parameters.merge(&repo.open_with(program));
    for place in ["app", "remote.git"] {
        assert_eq!(main_of(&repo, place), commit);
    }
    let first_parent = repo.git(&repo.app(), &["rev-parse", &format!("{commit}^1")]);
    assert_eq!(first_parent.trim(), late);
    assert!(repo.app().join("theirs").exists());
}

#[test]
fn diverged_branches_are_left_to_the_user() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    others_push(&repo, "theirs");
    advance(&repo);
    repo.git(&repo.app(), &["fetch", "-q"]);
    let before = (repo.branches(), files(&repo.app()));
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    let obstacle = MergeParameters::now(&repo, MergeStrategy::Merge).with_push();
    assert_eq!(obstacle.obstacle(&repo.open()), MergeObstacle::Diverged);
    assert_eq!((repo.branches(), files(&repo.app())), before);
    // It can still be merged locally.
    let commit = parameters.merge(&repo.open());
    assert_eq!(main_of(&repo, "app"), commit);
}

#[test]
fn local_commits_on_the_default_branch_are_pushed() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    advance(&repo);
    let own = main_of(&repo, "app");
    let commit = MergeParameters::now(&repo, MergeStrategy::Merge)
        .with_push()
        .merge(&repo.open());
    assert_eq!(main_of(&repo, "remote.git"), commit);
    let contains = ["merge-base", "--is-ancestor", &own, &commit];
    assert!(repo.try_git(&repo.app(), &contains).status.success());
}

#[test]
fn an_unreachable_remote_is_an_error_and_nothing_moves() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    fs::remove_dir_all(remote).unwrap();
    let before = (repo.branches(), files(&repo.app()));
    let failed = MergeParameters::now(&repo, MergeStrategy::Ff)
        .with_push()
        .try_merge(&repo.open());
    assert!(
        matches!(failed, Err(GitError::Unreachable { .. })),
        "{failed:?}"
    );
    assert_eq!((repo.branches(), files(&repo.app())), before);
}

#[test]
fn pushed_work_is_fetched_once_a_dirty_checkout_is_clean() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    let edited = repo.app().join("README");
    // The user saves a file while the push is in flight.
    let script = format!("echo edited >{}", edited.display());
    hook(&remote, "pre-receive", &script);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Squash).with_push();
    let before = main_of(&repo, "app");
    let obstacle = parameters.obstacle(&repo.open());
    assert!(
        matches!(obstacle, MergeObstacle::UncommittedChanges { .. }),
        "{obstacle:?}"
    );
    assert_eq!(fs::read_to_string(&edited).unwrap(), "edited\n");
    assert_eq!(main_of(&repo, "app"), before);
    let pushed = main_of(&repo, "remote.git");
    assert_ne!(pushed, before);
    repo.git(&repo.app(), &["checkout", "-q", "--", "README"]);
    fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
    assert_eq!(parameters.merge(&repo.open()), pushed);
    assert_eq!(main_of(&repo, "app"), pushed);
}

#[test]
fn a_branch_is_pushed_and_never_forced() {
    let repo = RepoFixture::new();
    branch(&repo);
    let fix = BranchName::new("fix");
    assert_eq!(repo.open().push_branch(&fix).unwrap(), PushResult::NoRemote);
    let remote = add_remote(&repo);
    repo.git(&remote, &["branch", "-D", "fix"]);
    for _ in 0..2 {
        assert_eq!(repo.open().push_branch(&fix).unwrap(), PushResult::Done);
    }
    assert_eq!(tip(&repo, &remote, "fix"), tip(&repo, &repo.app(), "fix"));
    let kept = tip(&repo, &remote, "fix");
    repo.git(&repo.slot(), &["commit", "-q", "--amend", "-m", "other"]);
    let pushed = repo.open().push_branch(&fix).unwrap();
    assert!(matches!(pushed, PushResult::Rejected(_)), "{pushed:?}");
    assert_eq!(tip(&repo, &remote, "fix"), kept);
}

#[test]
fn lesson_4_neither_the_default_branch_nor_unmerged_commits_are_deleted() {
    let repo = RepoFixture::new();
    branch(&repo);
    let (fix, main) = (BranchName::new("fix"), BranchName::new("main"));
    let head = tip(&repo, &repo.app(), "fix");
    let remote = add_remote(&repo);
    let git = repo.open();
    let before = repo.branches();
    assert_eq!(
        git.delete_branch(&main, &main).unwrap(),
        Deletion::IsDefault
    );
    assert_eq!(
        git.delete_remote_branch(&main, &main).unwrap(),
        Deletion::IsDefault
    );
    // Whatever is configured here, the remote's own default branch is kept.
    assert_eq!(
        git.delete_remote_branch(&main, &fix).unwrap(),
        Deletion::IsDefault
    );
    let deletion = git.delete_branch(&fix, &main).unwrap();
    assert_eq!(
        deletion,
        Deletion::CheckedOut(repo.slot().canonicalize().unwrap())
    );
    repo.git(&repo.slot(), &["switch", "-q", "--detach"]);
    let deletion = git.delete_branch(&fix, &main).unwrap();
    assert!(
        matches!(deletion, Deletion::NotContained(_)),
        "{deletion:?}"
    );
    assert_eq!(repo.branches(), before);
    // The remote has a commit that exists nowhere else.
    repo.git(
        &repo.path(""),
        &["clone", "-q", "-b", "fix", "remote.git", "other"],
    );
    repo.commit(&repo.path("other"), "theirs", "of others\n");
    repo.git(&repo.path("other"), &["push", "-q", "origin", "fix"]);
    let remote_commit = tip(&repo, &remote, "fix");
    let deletion = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(
        matches!(deletion, Deletion::NotContained(_)),
        "{deletion:?}"
    );
    assert_eq!(tip(&repo, &remote, "fix"), remote_commit);
    repo.git(&remote, &["update-ref", "refs/heads/fix", &head]);
    let deletion = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(matches!(deletion, Deletion::Deleted(_)), "{deletion:?}");
    assert_eq!(
        git.delete_remote_branch(&fix, &main).unwrap(),
        Deletion::Absent
    );
    assert!(repo.git(&remote, &["branch", "--list", "fix"]).is_empty());
    MergeParameters::now(&repo, MergeStrategy::Ff).merge(&git);
    let deletion = git.delete_branch(&fix, &main).unwrap();
    assert!(matches!(deletion, Deletion::Deleted(_)), "{deletion:?}");
    assert_eq!(git.delete_branch(&fix, &main).unwrap(), Deletion::Absent);
}

#[test]
fn a_relative_remote_path_is_relative_to_the_checkout() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    let set = ["remote", "set-url", "origin", "../remote.git"];
    repo.git(&repo.app(), &set);
    let git = repo.open();
    let (fix, main) = (BranchName::new("fix"), BranchName::new("main"));
    assert_eq!(git.push_branch(&fix).unwrap(), PushResult::Done);
    let pushed = tip(&repo, &remote, "refs/heads/fix");
    assert_eq!(pushed, tip(&repo, &repo.app(), "refs/heads/fix"));
    let commit = MergeParameters::now(&repo, MergeStrategy::Ff)
        .with_push()
        .merge(&git);
    assert_eq!(main_of(&repo, "remote.git"), commit);
    let deleted = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(matches!(deleted, Deletion::Deleted(_)), "{deleted:?}");
    let left = repo.try_git(&remote, &["rev-parse", "--verify", "refs/heads/fix"]);
    assert!(!left.status.success());
}

#[test]
fn a_checkout_that_becomes_dirty_during_the_push_is_reported() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    let readme = repo.app().join("README");
    let before = (repo.branches(), fs::read(&readme).unwrap());
    hook(
        &remote,
        "post-receive",
        &format!("echo mine >{}", readme.display()),
    );
    let parameters = MergeParameters::now(&repo, MergeStrategy::Ff).with_push();
    // Asked again, nothing more is pushed, and the refusal is still reported.
    for _ in 0..2 {
        let MergeOutcome::Refused(refusal) = parameters.try_merge(&repo.open()).unwrap() else {
            panic!("it was merged over the user's changes");
        };
        assert!(matches!(
            refusal.obstacle,
            MergeObstacle::UncommittedChanges { .. }
        ));
        let has_it = refusal.pushed_remote.as_deref().unwrap_or_default();
        assert!(has_it.starts_with("origin ("), "{refusal}");
        assert!(parameters.obstacle(&repo.open()) == refusal.obstacle);
        assert_eq!(main_of(&repo, "remote.git"), parameters.head.as_str());
        assert_eq!(repo.branches(), before.0);
        assert_eq!(fs::read(&readme).unwrap(), b"mine\n");
    }
    fs::write(&readme, before.1).unwrap();
    assert_eq!(parameters.merge(&repo.open()), parameters.head.as_str());
}

#[test]
fn a_cancelled_merge_moves_nothing() {
    let repo = RepoFixture::new();
    branch(&repo);
    add_remote(&repo);
    let before = (repo.branches(), files(&repo.app()));
    let remote_commit = main_of(&repo, "remote.git");
    let mut parameters = MergeParameters::now(&repo, MergeStrategy::Squash).with_push();
    parameters.is_called_off = true;
    assert_eq!(parameters.obstacle(&repo.open()), MergeObstacle::Cancelled);
    assert_eq!((repo.branches(), files(&repo.app())), before);
    assert_eq!(main_of(&repo, "remote.git"), remote_commit);
}
