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
fn others_push(yard: &RepoFixture, file: &str) -> String {
    let other = yard.path("other");
    if !other.exists() {
        yard.git(&yard.path(""), &["clone", "-q", "remote.git", "other"]);
    }
    yard.git(&other, &["pull", "-q", "--rebase"]);
    let commit = yard.commit(&other, file, "of others\n");
    yard.git(&other, &["push", "-q", "origin", "main"]);
    commit
}

fn main_of(yard: &RepoFixture, directory: &str) -> String {
    tip(yard, &yard.path(directory), "refs/heads/main")
}

#[test]
fn the_remote_gets_each_kind_of_merge() {
    for strategy in ALL {
        let yard = RepoFixture::new();
        branch(&yard);
        add_remote(&yard);
        let commit = MergeParameters::now(&yard, strategy)
            .with_push()
            .merge(&yard.open());
        assert_eq!(main_of(&yard, "remote.git"), commit);
        assert_eq!(main_of(&yard, "app"), commit);
        assert_eq!(tip(&yard, &yard.app(), "refs/remotes/origin/main"), commit);
    }
}

#[test]
fn a_remote_is_left_alone_unless_it_is_to_be_pushed() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    let before = main_of(&yard, "remote.git");
    let wanted = MergeParameters::now(&yard, MergeStrategy::Ff);
    let commit = wanted.merge(&yard.open());
    assert_eq!(main_of(&yard, "app"), commit);
    assert_eq!(main_of(&yard, "remote.git"), before);
    // Asked again with the remote, only the missing part is done.
    assert_eq!(wanted.with_push().merge(&yard.open()), commit);
    assert_eq!(main_of(&yard, "remote.git"), commit);
}

#[test]
fn a_remote_that_says_no_is_heard_before_anything_moves() {
    let yard = RepoFixture::new();
    branch(&yard);
    let remote = add_remote(&yard);
    hook(
        &remote,
        "pre-receive",
        "echo 'no merges on Sunday' >&2; exit 1",
    );
    let before = (yard.branches(), files(&yard.app()));
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge).with_push();
    let MergeObstacle::Rejected {
        remote: name,
        words,
    } = wanted.obstacle(&yard.open())
    else {
        panic!("it was not rejected");
    };
    assert_eq!(name, format!("origin ({})", remote.display()));
    assert!(words.contains("no merges on Sunday"), "{words}");
    assert_eq!((yard.branches(), files(&yard.app())), before);
    fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
    let commit = wanted.merge(&yard.open());
    assert_eq!(main_of(&yard, "remote.git"), commit);
}

#[test]
fn a_remote_that_moved_is_seen_and_the_next_attempt_takes_it_along() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    let theirs = others_push(&yard, "theirs");
    let before = (yard.branches(), files(&yard.app()));
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash).with_push();
    let obstacle = wanted.obstacle(&yard.open());
    let MergeObstacle::DefaultMoved { found, .. } = &obstacle else {
        panic!("{obstacle:?}");
    };
    assert_eq!(found.as_str(), theirs);
    assert_eq!((yard.branches(), files(&yard.app())), before);
    let mut wanted = wanted;
    wanted.base = found.clone();
    let commit = wanted.merge(&yard.open());
    let parent = tip(&yard, &yard.app(), &format!("{commit}^"));
    assert_eq!(parent, theirs);
    assert_eq!(main_of(&yard, "app"), commit);
    assert_eq!(main_of(&yard, "remote.git"), commit);
    assert!(
        yard.app().join("theirs").exists(),
        "the checkout was updated too"
    );
    assert_eq!(wanted.merge(&yard.open()), commit, "it is there");
}

#[test]
fn a_remote_that_moves_in_the_last_moment_rejects_the_push() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    yard.git(&yard.path(""), &["clone", "-q", "remote.git", "other"]);
    let late = yard.commit(&yard.path("other"), "theirs", "of others\n");
    let script = format!(
        "if [ \"$2\" = push ]; then (unset $(env | sed -n 's/^\\(GIT_[A-Z0-9_]*\\)=.*/\\1/p')\n\
         $real -C {} push -q origin main); fi\nexec $real \"$@\"",
        yard.path("other").display()
    );
    let program = yard.wrapper("late", &script);
    let before = (main_of(&yard, "app"), files(&yard.app()));
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge).with_push();
    let obstacle = wanted.obstacle(&yard.open_with(program));
    assert!(
        matches!(obstacle, MergeObstacle::Rejected { .. }),
        "{obstacle:?}"
    );
    assert_eq!(main_of(&yard, "remote.git"), late);
    assert_eq!((main_of(&yard, "app"), files(&yard.app())), before);
}

#[test]
fn branches_that_diverged_are_a_persons_to_bring_together() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    others_push(&yard, "theirs");
    advance(&yard);
    yard.git(&yard.app(), &["fetch", "-q"]);
    let before = (yard.branches(), files(&yard.app()));
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    let obstacle = MergeParameters::now(&yard, MergeStrategy::Merge).with_push();
    assert_eq!(obstacle.obstacle(&yard.open()), MergeObstacle::Diverged);
    assert_eq!((yard.branches(), files(&yard.app())), before);
    // It can still be merged locally.
    let commit = wanted.merge(&yard.open());
    assert_eq!(main_of(&yard, "app"), commit);
}

#[test]
fn own_commits_on_the_default_branch_go_along() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    advance(&yard);
    let own = main_of(&yard, "app");
    let commit = MergeParameters::now(&yard, MergeStrategy::Merge)
        .with_push()
        .merge(&yard.open());
    assert_eq!(main_of(&yard, "remote.git"), commit);
    let contains = ["merge-base", "--is-ancestor", &own, &commit];
    assert!(yard.try_git(&yard.app(), &contains).status.success());
}

#[test]
fn a_remote_that_does_not_answer_is_an_error_and_nothing_moves() {
    let yard = RepoFixture::new();
    branch(&yard);
    let remote = add_remote(&yard);
    fs::remove_dir_all(remote).unwrap();
    let before = (yard.branches(), files(&yard.app()));
    let failed = MergeParameters::now(&yard, MergeStrategy::Ff)
        .with_push()
        .try_merge(&yard.open());
    assert!(
        matches!(failed, Err(GitError::Unreachable { .. })),
        "{failed:?}"
    );
    assert_eq!((yard.branches(), files(&yard.app())), before);
}

#[test]
fn what_was_pushed_before_a_dirty_checkout_refused_is_fetched_once_it_is_clean() {
    let yard = RepoFixture::new();
    branch(&yard);
    let remote = add_remote(&yard);
    let edited = yard.app().join("README");
    // The user saves a file while the push is in flight.
    let script = format!("echo edited >{}", edited.display());
    hook(&remote, "pre-receive", &script);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash).with_push();
    let before = main_of(&yard, "app");
    let obstacle = wanted.obstacle(&yard.open());
    assert!(
        matches!(obstacle, MergeObstacle::UncommittedChanges { .. }),
        "{obstacle:?}"
    );
    assert_eq!(fs::read_to_string(&edited).unwrap(), "edited\n");
    assert_eq!(main_of(&yard, "app"), before);
    let pushed = main_of(&yard, "remote.git");
    assert_ne!(pushed, before);
    yard.git(&yard.app(), &["checkout", "-q", "--", "README"]);
    fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
    assert_eq!(wanted.merge(&yard.open()), pushed);
    assert_eq!(main_of(&yard, "app"), pushed);
}

#[test]
fn a_branch_is_pushed_and_never_forced() {
    let yard = RepoFixture::new();
    branch(&yard);
    let fix = BranchName::new("fix");
    assert_eq!(yard.open().push_branch(&fix).unwrap(), PushResult::NoRemote);
    let remote = add_remote(&yard);
    yard.git(&remote, &["branch", "-D", "fix"]);
    for _ in 0..2 {
        assert_eq!(yard.open().push_branch(&fix).unwrap(), PushResult::Done);
    }
    assert_eq!(tip(&yard, &remote, "fix"), tip(&yard, &yard.app(), "fix"));
    let kept = tip(&yard, &remote, "fix");
    yard.git(&yard.slot(), &["commit", "-q", "--amend", "-m", "other"]);
    let pushed = yard.open().push_branch(&fix).unwrap();
    assert!(matches!(pushed, PushResult::Rejected(_)), "{pushed:?}");
    assert_eq!(tip(&yard, &remote, "fix"), kept);
}

#[test]
fn lesson_4_no_deletion_reaches_the_default_branch_or_what_nothing_else_has() {
    let yard = RepoFixture::new();
    branch(&yard);
    let (fix, main) = (BranchName::new("fix"), BranchName::new("main"));
    let head = tip(&yard, &yard.app(), "fix");
    let remote = add_remote(&yard);
    let git = yard.open();
    let before = yard.branches();
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
        Deletion::CheckedOut(yard.slot().canonicalize().unwrap())
    );
    yard.git(&yard.slot(), &["switch", "-q", "--detach"]);
    let deletion = git.delete_branch(&fix, &main).unwrap();
    assert!(
        matches!(deletion, Deletion::NotContained(_)),
        "{deletion:?}"
    );
    assert_eq!(yard.branches(), before);
    // The remote has a commit that exists nowhere else.
    yard.git(
        &yard.path(""),
        &["clone", "-q", "-b", "fix", "remote.git", "other"],
    );
    yard.commit(&yard.path("other"), "theirs", "of others\n");
    yard.git(&yard.path("other"), &["push", "-q", "origin", "fix"]);
    let theirs = tip(&yard, &remote, "fix");
    let deletion = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(
        matches!(deletion, Deletion::NotContained(_)),
        "{deletion:?}"
    );
    assert_eq!(tip(&yard, &remote, "fix"), theirs);
    yard.git(&remote, &["update-ref", "refs/heads/fix", &head]);
    let deletion = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(matches!(deletion, Deletion::Deleted(_)), "{deletion:?}");
    assert_eq!(
        git.delete_remote_branch(&fix, &main).unwrap(),
        Deletion::Absent
    );
    assert!(yard.git(&remote, &["branch", "--list", "fix"]).is_empty());
    MergeParameters::now(&yard, MergeStrategy::Ff).merge(&git);
    let deletion = git.delete_branch(&fix, &main).unwrap();
    assert!(matches!(deletion, Deletion::Deleted(_)), "{deletion:?}");
    assert_eq!(git.delete_branch(&fix, &main).unwrap(), Deletion::Absent);
}

#[test]
fn a_remote_that_is_a_relative_path_is_meant_from_the_checkout() {
    let yard = RepoFixture::new();
    branch(&yard);
    let remote = add_remote(&yard);
    let set = ["remote", "set-url", "origin", "../remote.git"];
    yard.git(&yard.app(), &set);
    let git = yard.open();
    let (fix, main) = (BranchName::new("fix"), BranchName::new("main"));
    assert_eq!(git.push_branch(&fix).unwrap(), PushResult::Done);
    let pushed = tip(&yard, &remote, "refs/heads/fix");
    assert_eq!(pushed, tip(&yard, &yard.app(), "refs/heads/fix"));
    let commit = MergeParameters::now(&yard, MergeStrategy::Ff)
        .with_push()
        .merge(&git);
    assert_eq!(main_of(&yard, "remote.git"), commit);
    let deleted = git.delete_remote_branch(&fix, &main).unwrap();
    assert!(matches!(deleted, Deletion::Deleted(_)), "{deleted:?}");
    let left = yard.try_git(&remote, &["rev-parse", "--verify", "refs/heads/fix"]);
    assert!(!left.status.success());
}

#[test]
fn a_checkout_that_becomes_dirty_during_the_push_is_told_that_the_remote_has_it() {
    let yard = RepoFixture::new();
    branch(&yard);
    let remote = add_remote(&yard);
    let readme = yard.app().join("README");
    let before = (yard.branches(), fs::read(&readme).unwrap());
    hook(
        &remote,
        "post-receive",
        &format!("echo mine >{}", readme.display()),
    );
    let wanted = MergeParameters::now(&yard, MergeStrategy::Ff).with_push();
    // Asked again, nothing more is pushed, and the refusal is still reported.
    for _ in 0..2 {
        let MergeOutcome::Refused(refusal) = wanted.try_merge(&yard.open()).unwrap() else {
            panic!("it was merged over the user's changes");
        };
        assert!(matches!(
            refusal.obstacle,
            MergeObstacle::UncommittedChanges { .. }
        ));
        let has_it = refusal.pushed_remote.as_deref().unwrap_or_default();
        assert!(has_it.starts_with("origin ("), "{refusal}");
        assert!(wanted.obstacle(&yard.open()) == refusal.obstacle);
        assert_eq!(main_of(&yard, "remote.git"), wanted.head.as_str());
        assert_eq!(yard.branches(), before.0);
        assert_eq!(fs::read(&readme).unwrap(), b"mine\n");
    }
    fs::write(&readme, before.1).unwrap();
    assert_eq!(wanted.merge(&yard.open()), wanted.head.as_str());
}

#[test]
fn a_merge_that_is_called_off_moves_nothing() {
    let yard = RepoFixture::new();
    branch(&yard);
    add_remote(&yard);
    let before = (yard.branches(), files(&yard.app()));
    let theirs = main_of(&yard, "remote.git");
    let mut wanted = MergeParameters::now(&yard, MergeStrategy::Squash).with_push();
    wanted.is_called_off = true;
    assert_eq!(wanted.obstacle(&yard.open()), MergeObstacle::Cancelled);
    assert_eq!((yard.branches(), files(&yard.app())), before);
    assert_eq!(main_of(&yard, "remote.git"), theirs);
}
