//! Workspaces: created, recognised, and never mistaken for something else.

use std::fs;
use std::os::unix::fs::symlink;

use orange_effects::git::{AcquireRefusal, Phase, ReleaseResult, RestoreResult, SlotRefusal};
use orange_engine::names::TaskId;

use crate::repo_fixture::{RepoFixture, WORKSPACE, begin_count, counted, files, numbering_script};

fn slot_refusal(repo: &RepoFixture) -> SlotRefusal {
    let git = repo.open();
    match repo.refusal(&git, "t1", "fix") {
        AcquireRefusal::Slot(refusal) => refusal,
        refusal => panic!("{refusal:?}"),
    }
}

#[test]
fn foreign_worktrees_are_never_touched() {
    let repo = RepoFixture::new();
    let path = repo.slot().display().to_string();
    repo.git(
        &repo.app(),
        &["worktree", "add", "-q", "-b", "theirs", &path],
    );
    fs::write(repo.slot().join("theirs"), "theirs\n").unwrap();
    let before = files(&repo.slot());
    let real = repo.slot().canonicalize().unwrap();
    assert_eq!(slot_refusal(&repo), SlotRefusal::NotOurs(real.clone()));
    let git = repo.open();
    assert_eq!(
        repo.release(&git, "t1"),
        ReleaseResult::Refused(SlotRefusal::NotOurs(real))
    );
    assert_eq!(files(&repo.slot()), before);
}

#[test]
fn lesson_34_a_plain_directory_is_not_taken_for_a_worktree() {
    let repo = RepoFixture::new();
    fs::create_dir_all(repo.slot()).unwrap();
    fs::write(repo.slot().join("something"), "x").unwrap();
    let real = repo.slot().canonicalize().unwrap();
    assert_eq!(slot_refusal(&repo), SlotRefusal::Occupied(real.clone()));
    // Not even if it pretends to be one.
    let git_file = format!("gitdir: {}/.git\n", repo.app().display());
    fs::write(repo.slot().join(".git"), git_file).unwrap();
    assert_eq!(slot_refusal(&repo), SlotRefusal::Occupied(real));
    assert_eq!(fs::read(repo.slot().join("something")).unwrap(), b"x");
}

#[test]
fn a_link_is_not_a_workspace() {
    let repo = RepoFixture::new();
    let outside = repo.path("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(repo.path("workspaces")).unwrap();
    symlink(&outside, repo.slot()).unwrap();
    assert!(matches!(slot_refusal(&repo), SlotRefusal::Occupied(_)));
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn an_empty_directory_becomes_the_workspace() {
    let repo = RepoFixture::new();
    fs::create_dir_all(repo.slot()).unwrap();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
}

#[test]
fn lesson_34_a_failed_creation_is_finished_or_repeated() {
    let repo = RepoFixture::new();
    // Each fails at a different git call, as with a full disk.
    for at in (1..).step_by(2) {
        let script = format!(
            "{}[ $n = {at} ] && exit 128\nexec $real \"$@\"",
            numbering_script(&repo.path("n"))
        );
        let failing = repo.wrapper(&format!("git-{at}"), &script);
        begin_count(&repo.path("n"));
        let git = repo.open();
        let environment = repo.environment();
        let failed = orange_effects::git::Git::open(&failing, &repo.app(), &environment)
            .is_ok_and(|git| repo.try_acquire(&git, "t1", "fix").is_err());
        let calls = counted(&repo.path("n"));
        let acquired = repo.acquire(&git, "t1", "fix");
        assert_eq!(
            acquired.head.branch().unwrap().as_str(),
            "fix",
            "failed at {at}"
        );
        assert_eq!(acquired.changes.len(), 0, "failed at {at}");
        assert!(repo.slot().join("README").is_file());
        let listed = repo.git(&repo.app(), &["worktree", "list", "--porcelain"]);
        assert_eq!(listed.matches("worktree ").count(), 2, "{listed}");
        repo.git(
            &repo.app(),
            &[
                "worktree",
                "remove",
                "-f",
                "-f",
                &repo.slot().display().to_string(),
            ],
        );
        repo.git(&repo.app(), &["branch", "-q", "-D", "fix"]);
        if !failed && calls < at {
            return;
        }
    }
}

#[test]
fn a_deleted_directory_keeps_its_staged_changes() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("README"), "staged\n").unwrap();
    fs::write(repo.slot().join("new"), "staged\n").unwrap();
    repo.git(&repo.slot(), &["add", "README", "new"]);
    fs::remove_dir_all(repo.slot()).unwrap();
    let ReleaseResult::Free { rescues } = repo.release(&git, "t1") else {
        panic!("it can be released");
    };
    assert!(
        repo.slot().join("src/main.rs").is_file(),
        "it is a workspace again"
    );
    let back = repo.acquire(&git, "t1", "fix");
    let restored = back.worktree.restore(&rescues[0]).unwrap();
    assert!(matches!(restored, RestoreResult::Done { .. }));
    assert_eq!(fs::read(repo.slot().join("new")).unwrap(), b"staged\n");
    assert_eq!(fs::read(repo.slot().join("README")).unwrap(), b"staged\n");
    assert!(
        repo.slot().join("tool.sh").is_file(),
        "what was committed is not deleted"
    );
    fs::remove_dir_all(repo.slot()).unwrap();
    assert!(repo.acquire(&git, "t1", "fix").was_acquired);
}

#[test]
fn a_workspace_that_became_a_repository_of_its_own_is_left_alone() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::remove_file(repo.slot().join(".git")).unwrap();
    repo.git(&repo.slot(), &["init", "-q"]);
    let before = files(&repo.slot());
    assert!(matches!(slot_refusal(&repo), SlotRefusal::Broken { .. }));
    let released = repo.release(&git, "t1");
    assert!(
        matches!(released, ReleaseResult::Refused(SlotRefusal::Broken { .. })),
        "{released:?}"
    );
    assert_eq!(files(&repo.slot()), before);
}

#[test]
fn another_tasks_workspace_is_not_released() {
    let repo = RepoFixture::new();
    let git = repo.open();
    assert_eq!(repo.release(&git, "t1"), ReleaseResult::Absent);
    repo.acquire(&git, "t1", "fix");
    let task = TaskId::new("t1");
    assert_eq!(repo.release(&git, "t2"), ReleaseResult::OtherTask { task });
    let worktree = git.worktree(&repo.slot()).unwrap();
    let marker = worktree.marker().unwrap().unwrap();
    assert_eq!(marker.workspace.as_str(), WORKSPACE);
    assert!(matches!(marker.phase, Phase::Bound { .. }));
    repo.release(&git, "t1");
    assert_eq!(worktree.marker().unwrap().unwrap().phase, Phase::Idle);
}

#[test]
fn lesson_4_the_users_checkout_is_not_a_workspace() {
    let repo = RepoFixture::new();
    let git = repo.open();
    let name = orange_engine::names::WorkspaceName::new("app");
    let slot = orange_effects::git::Slot {
        name: &name,
        path: &repo.app(),
    };
    let refused = git.existing_workspace(&slot).unwrap();
    assert!(matches!(refused, Err(SlotRefusal::NotOurs(_))));
}
