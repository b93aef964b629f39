//! Fast-forwards the default branch, and the checkouts that are on it.
//!
//! A checkout belongs to the user. Its files change only while it is clean, and before the branch
//! moves. The git command that changes them replaces a file only if it is the same as in the old
//! commit. A note in git's directory tells a retry what an interrupted run was doing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::name::branch_ref;
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{Git, GitError, MergeObstacle, Worktree};
use crate::safe_directory::EntryKind;

/// A fast-forward of a branch from one commit to a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastForward<'a> {
    pub branch: &'a BranchName,
    /// Its current commit; `None` when it does not exist yet.
    pub from: Option<&'a CommitId>,
    pub to: &'a CommitId,
}

impl Git {
    /// The worktrees that are on a branch, or in the middle of an operation on it.
    pub(crate) fn checkouts<'a>(
        &'a self,
        branch: &BranchName,
    ) -> Result<Vec<Result<Worktree<'a>, GitError>>, GitError> {
        let listed = self.worktrees()?.into_iter();
        let listed = listed.filter(|it| it.branch.as_ref() == Some(branch));
        Ok(listed.map(|it| self.worktree(&it.path)).collect())
    }

    /// What would prevent moving the branch now.
    pub(crate) fn find_obstacle(
        &self,
        forward: &FastForward<'_>,
    ) -> Result<Option<MergeObstacle>, GitError> {
        let Some(from) = forward.from.filter(|from| *from != forward.to) else {
            return Ok(None);
        };
        for worktree in self.checkouts(forward.branch)? {
            let obstacle = match worktree {
                Ok(worktree) => {
                    worktree.find_checkout_obstacle(forward.branch, from, forward.to)?
                }
                Err(GitError::WorktreeMismatch { path, reason }) => Some(MergeObstacle::Unusable {
                    checkout: path,
                    reason,
                }),
                Err(error) => return Err(error),
            };
            if obstacle.is_some() {
                return Ok(obstacle);
            }
        }
        Ok(None)
    }

    /// Moves the branch, and the files of every checkout that is on it.
    pub(crate) fn fast_forward(
        &self,
        forward: &FastForward<'_>,
    ) -> Result<Result<(), MergeObstacle>, GitError> {
        if forward.from == Some(forward.to) {
            return Ok(Ok(()));
        }
        // Checked again, because a checkout that was clean before a push may have changed since.
        if let Some(obstacle) = self.find_obstacle(forward)? {
            return Ok(Err(obstacle));
        }
        let mut moved = Vec::new();
        if let Some(from) = forward.from {
            for worktree in self.checkouts(forward.branch)? {
                let worktree = worktree?;
                let obstacle = worktree.update_checkout(from, forward.to)?;
                moved.push(worktree);
                if let Some(obstacle) = obstacle {
                    return restore_checkouts(&moved, obstacle).map(Err);
                }
            }
        }
        let nothing = CommitId::new(self.null_id());
        let expected = forward.from.unwrap_or(&nothing);
        let name = branch_ref(forward.branch)?;
        let call = self.call(["update-ref", "-m", "orange: merge", &name]);
        let call = call.with_arguments([forward.to.as_str(), expected.as_str()]);
        if let Err(error) = call.succeed() {
            let found = self.branch(forward.branch)?;
            return match found {
                Some(found) if found != *expected => {
                    let expected = expected.clone();
                    let obstacle = MergeObstacle::DefaultMoved { expected, found };
                    restore_checkouts(&moved, obstacle).map(Err)
                }
                _ => {
                    for worktree in moved {
                        worktree.recover()?;
                    }
                    let lock = self.directory().join(format!("{name}.lock"));
                    let worktree = self.directory().to_owned();
                    let is_locked = fs::symlink_metadata(&lock).is_ok();
                    Err(if is_locked {
                        GitError::Locked { worktree, lock }
                    } else {
                        error
                    })
                }
            };
        }
        for worktree in moved {
            worktree.remove_note()?;
        }
        Ok(Ok(()))
    }
}

/// Changes on disk that git was told to overlook. They hinder a merge only where it writes.
fn hidden_changes(status: &WorktreeStatus) -> BTreeSet<PathBuf> {
    let entries = status.index.iter();
    let hidden = entries.filter(|it| it.is_hidden || it.is_skipped);
    let changed = hidden.filter(|it| {
        let change = status.changes.get(&it.path);
        change.is_some_and(|change| !change.is_staged)
    });
    changed.map(|it| it.path.clone()).collect()
}

/// Restores checkouts to the files of their HEAD.
fn restore_checkouts(
    moved: &[Worktree<'_>],
    obstacle: MergeObstacle,
) -> Result<MergeObstacle, GitError> {
    for worktree in moved {
        worktree.recover()?;
    }
    Ok(obstacle)
}

impl Worktree<'_> {
    /// Why this checkout of a branch cannot be moved from one commit to another.
    fn find_checkout_obstacle(
        &self,
        branch: &BranchName,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Option<MergeObstacle>, GitError> {
        self.await_unlocked()?;
        let checkout = self.path().to_owned();
        let status = self.status()?;
        if !status.operations.is_empty() {
            let operations = status.operations;
            return Ok(Some(MergeObstacle::OperationInProgress {
                checkout,
                operations,
            }));
        }
        if status.head.branch() != Some(branch) || status.head.commit() != Some(from) {
            let reason = String::from("its HEAD has just moved");
            return Ok(Some(MergeObstacle::Unusable { checkout, reason }));
        }
        let tracked: BTreeSet<&Path> = status.index.iter().map(|it| it.path.as_path()).collect();
        let changed = status.changes.iter();
        let changed = changed.filter(|(path, it)| it.is_staged || tracked.contains(path.as_path()));
        let hidden = hidden_changes(&status);
        let changed = changed.map(|(path, _)| path.clone());
        let mut files: Vec<PathBuf> = changed.filter(|path| !hidden.contains(path)).collect();
        let filters = self.unfiltered_changes(&status)?;
        files.retain(|file| !filters.contains_key(file));
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::UncommittedChanges { checkout, files }));
        }
        if !filters.is_empty() {
            return Ok(Some(MergeObstacle::LacksFilter { checkout, filters }));
        }
        let mut submodules = Vec::new();
        for path in &status.moved_submodules {
            if !self.is_outdated_submodule(path, from)? {
                submodules.push(path.clone());
            }
        }
        if !submodules.is_empty() {
            return Ok(Some(MergeObstacle::MovedSubmodules {
                checkout,
                submodules,
            }));
        }
        let written = self.git().changed_paths(from, to)?;
        let files = written.iter().filter(|path| hidden.contains(*path));
        let files: Vec<PathBuf> = files.cloned().collect();
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::HiddenChanges { checkout, files }));
        }
        let files = self.occupied_paths(&tracked, &written)?;
        if !files.is_empty() {
            return Ok(Some(MergeObstacle::UntrackedFiles { checkout, files }));
        }
        // Without its filter, a changed file would get wrong content in the checkout.
        let filters = self.unfiltered_files(&written, to.as_str())?;
        if !filters.is_empty() {
            return Ok(Some(MergeObstacle::NeedsFilter { checkout, filters }));
        }
        // A preview may run at the same time as a merge, so each has its own copy of the index.
        let folder = self.git().own.scratch()?;
        let scratch = folder.join("index");
        self.copy_index_to(&scratch)?;
        // Files that were touched but not changed must not count as changed.
        let refresh = ["update-index", "-q", "--refresh"];
        let _differing = self
            .call_on(&scratch, refresh)
            .with_long_timeout()
            .answer()?;
        let trial = ["read-tree", "-m", "-u", "-n", from.as_str(), to.as_str()];
        let error = self.call_on(&scratch, trial).succeed().err();
        let _left_for_later = fs::remove_dir_all(&folder);
        Ok(error.map(|error| MergeObstacle::Unusable {
            checkout,
            reason: error.to_string(),
        }))
    }

    /// Whether a submodule is merely not updated yet: it is at a commit that the branch recorded
    /// for it earlier. A merge does not touch the submodule's files, and git itself merges
    /// nevertheless.
    fn is_outdated_submodule(&self, path: &Path, branch: &CommitId) -> Result<bool, GitError> {
        let staged = [
            "diff-index",
            "--cached",
            "--quiet",
            "--ignore-submodules=dirty",
        ];
        let staged = self.call(staged).with_arguments([branch.as_str(), "--"]);
        if staged.with_arguments([path]).answer()?.is_none() {
            return Ok(false);
        }
        let Some(commit) = self.submodule_commit(path) else {
            return Ok(false);
        };
        let words = ["log", "--max-count=1", "--format=%H", "--no-show-signature"];
        let recorded = self.git().call(words).with_arguments([
            "--ignore-submodules=none",
            &format!("--find-object={commit}"),
            branch.as_str(),
            "--",
        ]);
        Ok(!recorded.with_arguments([path]).bytes()?.is_empty())
    }

    /// Untracked files, including ignored ones, where the new commit has files.
    fn occupied_paths(
        &self,
        tracked: &BTreeSet<&Path>,
        written: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let kind = |path: &Path| place.kind(path).map_err(self.file_error("inspect", path));
        let mut occupied = BTreeSet::new();
        for path in written {
            if tracked.contains(path.as_path()) {
                continue;
            }
            let ancestors = path.ancestors().skip(1);
            for folder in ancestors.filter(|folder| !folder.as_os_str().is_empty()) {
                let is_file = matches!(kind(folder)?, EntryKind::Entry(_) | EntryKind::Other);
                if is_file && !tracked.contains(folder) {
                    occupied.insert(folder.to_owned());
                }
            }
            match kind(path)? {
                EntryKind::Absent => {}
                EntryKind::Entry(_) | EntryKind::Other => {
                    occupied.insert(path.clone());
                }
                // The merge removes the tracked files in it. git would also remove the ignored ones.
                EntryKind::Folder => {
                    let inside = place.files(path);
                    let mut inside = inside.map_err(self.file_error("list", path))?;
                    inside.retain(|it| !tracked.contains(it.as_path()));
                    occupied.extend(inside);
                }
            }
        }
        Ok(occupied.into_iter().collect())
    }

    /// Updates index and files to the new commit; the branch follows later.
    fn update_checkout(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Option<MergeObstacle>, GitError> {
        self.note_fast_forward(from, to)?;
        let refresh = ["update-index", "-q", "--refresh"];
        let _differing = self.call(refresh).with_long_timeout().answer()?;
        let read = self.call(["read-tree", "-m", "-u", from.as_str(), to.as_str()]);
        let read = read.with_long_timeout();
        Ok(read.succeed().err().map(|error| MergeObstacle::Unusable {
            checkout: self.path().to_owned(),
            reason: error.to_string(),
        }))
    }
}
