//! Workspaces: created, recognised, and never mistaken for something else.

use std::fs;
use std::os::unix::fs::symlink;

use orange_effects::git::{AcquireRefusal, Phase, ReleaseResult, RestoreResult, SlotRefusal};
use orange_engine::names::TaskId;

use crate::repo_fixture::{RepoFixture, WORKSPACE, begin_count, counted, files, numbering_script};

fn slot_refusal(yard: &RepoFixture) -> SlotRefusal {
    let git = yard.open();
    match yard.refusal(&git, "t1", "fix") {
        AcquireRefusal::Slot(refusal) => refusal,
        refusal => panic!("{refusal:?}"),
    }
}

#[test]
fn what_others_made_is_never_touched() {
    let yard = RepoFixture::new();
    let path = yard.slot().display().to_string();
    yard.git(
        &yard.app(),
        &["worktree", "add", "-q", "-b", "theirs", &path],
    );
    fs::write(yard.slot().join("theirs"), "theirs\n").unwrap();
    let before = files(&yard.slot());
    let real = yard.slot().canonicalize().unwrap();
    assert_eq!(slot_refusal(&yard), SlotRefusal::NotOurs(real.clone()));
    let git = yard.open();
    assert_eq!(
        yard.release(&git, "t1"),
        ReleaseResult::Refused(SlotRefusal::NotOurs(real))
    );
    assert_eq!(files(&yard.slot()), before);
}

#[test]
fn lesson_34_a_directory_that_is_no_worktree_is_not_taken_for_one() {
    let yard = RepoFixture::new();
    fs::create_dir_all(yard.slot()).unwrap();
    fs::write(yard.slot().join("something"), "x").unwrap();
    let real = yard.slot().canonicalize().unwrap();
    assert_eq!(slot_refusal(&yard), SlotRefusal::Occupied(real.clone()));
    // Not even if it pretends to be one.
    let git_file = format!("gitdir: {}/.git\n", yard.app().display());
    fs::write(yard.slot().join(".git"), git_file).unwrap();
    assert_eq!(slot_refusal(&yard), SlotRefusal::Occupied(real));
    assert_eq!(fs::read(yard.slot().join("something")).unwrap(), b"x");
}

#[test]
fn a_link_is_no_workspace() {
    let yard = RepoFixture::new();
    let outside = yard.path("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(yard.path("workspaces")).unwrap();
    symlink(&outside, yard.slot()).unwrap();
    assert!(matches!(slot_refusal(&yard), SlotRefusal::Occupied(_)));
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn an_empty_directory_becomes_the_workspace() {
    let yard = RepoFixture::new();
    fs::create_dir_all(yard.slot()).unwrap();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
}

#[test]
fn lesson_34_a_creation_that_failed_is_finished_or_made_again() {
    let yard = RepoFixture::new();
    // Each fails at a different git call, as with a full disk.
    for at in (1..).step_by(2) {
        let script = format!(
            "{}[ $n = {at} ] && exit 128\nexec $real \"$@\"",
            numbering_script(&yard.path("n"))
        );
        let failing = yard.wrapper(&format!("git-{at}"), &script);
        begin_count(&yard.path("n"));
        let git = yard.open();
        let environment = yard.environment();
        let failed = orange_effects::git::Git::open(&failing, &yard.app(), &environment)
            .is_ok_and(|git| yard.try_acquire(&git, "t1", "fix").is_err());
        let calls = counted(&yard.path("n"));
        let acquired = yard.acquire(&git, "t1", "fix");
        assert_eq!(
            acquired.head.branch().unwrap().as_str(),
            "fix",
            "failed at {at}"
        );
        assert_eq!(acquired.changes.len(), 0, "failed at {at}");
        assert!(yard.slot().join("README").is_file());
        let listed = yard.git(&yard.app(), &["worktree", "list", "--porcelain"]);
        assert_eq!(listed.matches("worktree ").count(), 2, "{listed}");
        yard.git(
            &yard.app(),
            &[
                "worktree",
                "remove",
                "-f",
                "-f",
                &yard.slot().display().to_string(),
            ],
        );
        yard.git(&yard.app(), &["branch", "-q", "-D", "fix"]);
        if !failed && calls < at {
            return;
        }
    }
}

#[test]
fn a_directory_that_somebody_deleted_loses_nothing_that_was_staged() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("README"), "staged\n").unwrap();
    fs::write(yard.slot().join("new"), "staged\n").unwrap();
    yard.git(&yard.slot(), &["add", "README", "new"]);
    fs::remove_dir_all(yard.slot()).unwrap();
    let ReleaseResult::Free { rescues } = yard.release(&git, "t1") else {
        panic!("it can be released");
    };
    assert!(
        yard.slot().join("src/main.rs").is_file(),
        "it is a workspace again"
    );
    let back = yard.acquire(&git, "t1", "fix");
    let restored = back.worktree.restore(&rescues[0]).unwrap();
    assert!(matches!(restored, RestoreResult::Done { .. }));
    assert_eq!(fs::read(yard.slot().join("new")).unwrap(), b"staged\n");
    assert_eq!(fs::read(yard.slot().join("README")).unwrap(), b"staged\n");
    assert!(
        yard.slot().join("tool.sh").is_file(),
        "what was committed is not deleted"
    );
    fs::remove_dir_all(yard.slot()).unwrap();
    assert!(yard.acquire(&git, "t1", "fix").was_acquired);
}

#[test]
fn a_workspace_that_became_a_repository_of_its_own_is_left_alone() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    fs::remove_file(yard.slot().join(".git")).unwrap();
    yard.git(&yard.slot(), &["init", "-q"]);
    let before = files(&yard.slot());
    assert!(matches!(slot_refusal(&yard), SlotRefusal::Broken { .. }));
    let released = yard.release(&git, "t1");
    assert!(
        matches!(released, ReleaseResult::Refused(SlotRefusal::Broken { .. })),
        "{released:?}"
    );
    assert_eq!(files(&yard.slot()), before);
}

#[test]
fn another_tasks_workspace_is_not_released() {
    let yard = RepoFixture::new();
    let git = yard.open();
    assert_eq!(yard.release(&git, "t1"), ReleaseResult::Absent);
    yard.acquire(&git, "t1", "fix");
    let task = TaskId::new("t1");
    assert_eq!(yard.release(&git, "t2"), ReleaseResult::OtherTask { task });
    let worktree = git.worktree(&yard.slot()).unwrap();
    let marker = worktree.marker().unwrap().unwrap();
    assert_eq!(marker.workspace.as_str(), WORKSPACE);
    assert!(matches!(marker.phase, Phase::Bound { .. }));
    yard.release(&git, "t1");
    assert_eq!(worktree.marker().unwrap().unwrap().phase, Phase::Idle);
}

#[test]
fn lesson_4_the_persons_own_checkout_is_no_workspace() {
    let yard = RepoFixture::new();
    let git = yard.open();
    let name = orange_engine::names::WorkspaceName::new("app");
    let slot = orange_effects::git::Slot {
        name: &name,
        path: &yard.app(),
    };
    let refused = git.existing_workspace(&slot).unwrap();
    assert!(matches!(refused, Err(SlotRefusal::NotOurs(_))));
}
