//! The table: every dirty state × every workspace operation.
//!
//! After each step every byte is untouched or in a rescue, no branch has moved, and the user's own
//! checkout is unchanged.

use std::fs;
use std::path::PathBuf;

use orange_effects::git::{AcquireRefusal, ReleaseResult, Rescue, RestoreResult};
use orange_engine::names::{BranchName, TaskId};

use crate::dirty_states::{ALL, DirtyState, Expected};
use crate::repo_fixture::{Files, RepoFixture, WORKSPACE, commit_files, files};

/// The steps that each state goes through.
const STEPS: [&str; 6] = [
    "release",
    "release again",
    "acquire for another task",
    "acquire again and restore",
    "restore again",
    "restore to a folder and a branch",
];

#[test]
fn the_table_is_large_enough() {
    assert!(
        ALL.len() * STEPS.len() >= 250,
        "{}",
        ALL.len() * STEPS.len()
    );
}

/// What no workspace operation may change.
#[derive(PartialEq, Eq, Debug)]
pub struct RepoState {
    branches: String,
    own_files: Files,
    own_status: String,
}

impl RepoState {
    pub fn of(repo: &RepoFixture) -> Self {
        Self {
            branches: repo.branches(),
            own_files: files(&repo.app()),
            own_status: repo.git(&repo.app(), &["status", "--porcelain=v2", "--branch"]),
        }
    }
}

fn head_file(repo: &RepoFixture) -> String {
    let directory = repo.app().join(".git/worktrees").join(WORKSPACE);
    fs::read_to_string(directory.join("HEAD")).unwrap()
}

fn status(repo: &RepoFixture) -> String {
    let status = ["status", "--porcelain=v2", "--untracked-files=all"];
    repo.git(&repo.slot(), &status)
}

/// Fails unless every byte is in its place or in a rescue.
pub fn assert_kept(repo: &RepoFixture, before: &Files, rescues: &[Rescue]) {
    let now = files(&repo.slot());
    let commits = rescues.iter().map(|it| it.commit.as_str());
    let commits = commits.chain(["main", "fix"]);
    let saved: Vec<Files> = commits.map(|it| commit_files(repo, it)).collect();
    for (path, content) in before {
        let is_kept = now.get(path) == Some(content)
            || saved.iter().any(|files| files.get(path) == Some(content));
        assert!(is_kept, "lost {}", path.display());
    }
}

/// Fails unless everything staged can be read from the repository through a rescue's index.
pub fn assert_index_kept(repo: &RepoFixture, before: &str, rescues: &[Rescue]) {
    let mut kept = String::new();
    for rescued in rescues {
        let range = format!("{}^@", rescued.commit);
        let parents = repo.git(&repo.app(), &["rev-parse", &range]);
        for parent in parents.lines() {
            kept += &repo.git(&repo.app(), &["ls-tree", "-r", parent]);
        }
    }
    for branch in ["main", "fix"] {
        let listed = repo.try_git(&repo.app(), &["ls-tree", "-r", branch]);
        kept += &String::from_utf8_lossy(&listed.stdout);
    }
    for line in before.lines() {
        let id = line.split(' ').nth(1).unwrap();
        let is_nothing = id == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        assert!(
            is_nothing || kept.contains(id),
            "lost from the index: {line}"
        );
    }
}

pub fn check_state(name: &str) {
    let state = ALL.iter().find(|state| state.name == name).unwrap();
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    (state.make)(&repo, &repo.slot());
    let surroundings = RepoState::of(&repo);
    let before = files(&repo.slot());
    let status_before = status(&repo);
    let index = repo.git(&repo.slot(), &["ls-files", "--stage"]);
    let head = head_file(&repo);

    // Creating the state may have changed the repository.
    let git = repo.open();
    let released = repo.release(&git, "t1");
    assert_eq!(RepoState::of(&repo), surroundings, "after release");
    let rescues = match (&released, state.expected) {
        (ReleaseResult::Free { rescues }, Expected::Free) => {
            assert_eq!(rescues.len(), 0);
            rescues.clone()
        }
        (ReleaseResult::Free { rescues }, Expected::Rescued) => {
            assert_eq!(rescues.len(), 1);
            rescues.clone()
        }
        (ReleaseResult::Retired { obstacles, rescues }, Expected::Retired) => {
            assert!(!obstacles.is_empty() && rescues.is_empty());
            assert_eq!(files(&repo.slot()), before);
            assert_eq!(status(&repo), status_before);
            assert_eq!(head_file(&repo), head);
            // It stays with the task, whichever task asks and however often.
            assert_eq!(repo.release(&git, "t1"), released);
            let taken = AcquireRefusal::HasOtherTask(TaskId::new("t1"));
            assert_eq!(repo.refusal(&git, "t2", "next"), taken);
            assert_eq!(files(&repo.slot()), before);
            return;
        }
        (released, expected) => panic!("{expected:?}, but {released:?}"),
    };
    assert_kept(&repo, &before, &rescues);
    assert_index_kept(&repo, &index, &rescues);
    assert_eq!(status(&repo), "", "a released workspace is clean");
    assert_eq!(head_file(&repo).trim().len(), 40, "HEAD is on no branch");

    assert_eq!(
        repo.release(&git, "t1"),
        ReleaseResult::Free {
            rescues: Vec::new()
        }
    );
    assert_kept(&repo, &before, &rescues);

    let other = repo.acquire(&git, "t2", "next");
    assert!(other.is_new_branch && !other.was_acquired);
    assert_eq!(status(&repo), "");
    assert_kept(&repo, &before, &rescues);
    assert_eq!(
        repo.release(&git, "t2"),
        ReleaseResult::Free {
            rescues: Vec::new()
        }
    );
    repo.git(&repo.app(), &["branch", "-q", "-D", "next"]);
    assert_eq!(RepoState::of(&repo), surroundings, "after another task");

    restore(&repo, state, &rescues, &before, &status_before);
}

fn restore(
    repo: &RepoFixture,
    state: &DirtyState,
    rescues: &[Rescue],
    before: &Files,
    status_before: &str,
) {
    let git = repo.open();
    let listed = git.rescues(&TaskId::new("t1")).unwrap();
    assert_eq!(listed, rescues);
    let Some(rescued) = rescues.first() else {
        let back = repo.acquire(&git, "t1", "fix");
        assert_eq!(back.head.branch().unwrap().as_str(), "fix");
        assert_eq!(files(&repo.slot()), *before);
        return;
    };
    assert_eq!(git.require_rescue(&TaskId::new("t1"), 1).unwrap(), *rescued);
    let elsewhere = repo.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for _twice in 0..2 {
        let restored = git.restore_to_folder(rescued, &elsewhere).unwrap();
        assert!(
            matches!(restored, RestoreResult::Done { .. }),
            "{restored:?}"
        );
    }
    for path in git.rescue_paths(rescued).unwrap() {
        let out = files(&elsewhere);
        assert_eq!(out.get(&path), before.get(&path), "{}", path.display());
    }
    let branch = BranchName::new("saved-work");
    let made = git.restore_to_branch(rescued, &branch).unwrap().unwrap();
    assert_eq!(
        git.restore_to_branch(rescued, &branch).unwrap().unwrap(),
        made
    );
    assert_eq!(
        commit_files(repo, made.as_str()),
        commit_files(repo, rescued.commit.as_str())
    );

    let acquired = if state.comes_back {
        repo.acquire(&git, "t1", "fix")
    } else {
        // The rescue belongs to a commit that the branch is not on.
        let at = rescued
            .about
            .head
            .as_ref()
            .map_or("main", |head| head.as_str());
        repo.git(&repo.app(), &["branch", "--force", "again", at]);
        repo.acquire(&git, "t1", "again")
    };
    if rescued.about.head.is_none() {
        // It has no base commit, so every existing file counts as different.
        let here = files(&repo.slot());
        let restored = acquired.worktree.restore(rescued).unwrap();
        assert!(
            matches!(restored, RestoreResult::Refused(_)),
            "{restored:?}"
        );
        assert_eq!(files(&repo.slot()), here);
        return;
    }
    for _twice in 0..2 {
        let restored = acquired.worktree.restore(rescued).unwrap();
        assert!(
            matches!(restored, RestoreResult::Done { .. }),
            "{restored:?}"
        );
        assert_eq!(files(&repo.slot()), *before);
        if state.comes_back {
            assert_eq!(status(repo), status_before);
        }
    }
    let conflict = acquired.worktree.path().join("README");
    if conflict.is_file() && !conflict.is_symlink() {
        fs::write(&conflict, "something else\n").unwrap();
        let other = files(&repo.slot());
        let restored = acquired.worktree.restore(rescued).unwrap();
        let touches = git
            .rescue_paths(rescued)
            .unwrap()
            .contains(&PathBuf::from("README"));
        assert_eq!(
            matches!(restored, RestoreResult::Refused(_)),
            touches,
            "{restored:?}"
        );
        assert_eq!(files(&repo.slot()), other);
    }
}
