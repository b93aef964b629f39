//! Resets a worktree to its HEAD, removing only what is saved.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use super::saved_contents::SavedContents;
use crate::git::repository::call::join_zero_terminated;
use crate::git::worktree::entry::{GITLINK, IndexEntry};
use crate::git::worktree::status::{Head, WorktreeStatus, is_file};
use crate::git::{GitError, Worktree};
use crate::safe_directory::EntryKind;

/// The result of resetting a worktree to its HEAD.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SettleResult {
    /// Every file is as in HEAD.
    Clean,
    /// These paths are saved nowhere, and were not changed.
    Unproved(BTreeSet<PathBuf>),
    /// These paths could not be reset to HEAD, and were not changed.
    Stuck(BTreeSet<PathBuf>),
}

impl Worktree<'_> {
    /// Detaches HEAD from its branch; the branch, the index and the files stay as they are.
    pub(crate) fn detach(&self, head: &Head, fallback: &CommitId) -> Result<CommitId, GitError> {
        let commit = match head {
            Head::Detached(commit) => return Ok(commit.clone()),
            Head::Branch { commit, .. } => commit.as_ref().unwrap_or(fallback),
        };
        let reason = ["-m", "orange: leave the branch"];
        let call = self
            .call(["update-ref", "--no-deref"])
            .with_arguments(reason);
        call.with_arguments(["HEAD", commit.as_str()]).succeed()?;
        match self.head()? {
            Head::Detached(now) if now == *commit => Ok(now),
            _ => Err(GitError::FilesChanging(self.path().to_owned())),
        }
    }

    /// Resets index and files to HEAD, which is at `commit`. Also returns the last status that was
    /// read.
    pub(crate) fn reset_to_head(
        &self,
        commit: &CommitId,
        saved: impl FnOnce() -> Result<SavedContents, GitError>,
    ) -> Result<(SettleResult, WorktreeStatus), GitError> {
        self.require_unlocked()?;
        let index = self.index_bytes()?;
        let status = self.status()?;
        if status.changes.is_empty() {
            return Ok((settle_result(&status), status));
        }
        let check = saved()?.judge(self, &status)?;
        if !check.unproved.is_empty() {
            return Ok((SettleResult::Unproved(check.unproved), status));
        }
        let different = self.remove_proved(&check.proved)?;
        if !different.is_empty() {
            return Ok((SettleResult::Unproved(different), status));
        }
        let scratch = self.scratch()?;
        self.unhide_files(&scratch, &status)?;
        let reset = ["read-tree", "--reset", commit.as_str()];
        self.call_on(&scratch, reset).succeed()?;
        if !self.swap_index(index.as_deref(), &scratch)? {
            return Ok((SettleResult::Stuck(status.paths()), status));
        }
        self.fill()?;
        let status = self.status()?;
        Ok((settle_result(&status), status))
    }

    /// Writes the files that the index has and the disk lacks; replaces nothing.
    pub(crate) fn fill(&self) -> Result<(), GitError> {
        let index = self.index()?;
        let place = self.place()?;
        let mut missing: Vec<&Path> = Vec::new();
        let expected = |it: &&IndexEntry| it.stage == 0 && !it.is_skipped;
        for indexed in index.iter().filter(expected) {
            let path = indexed.path.as_path();
            if place.kind(path).map_err(self.file_error("inspect", path))? != EntryKind::Absent {
                continue;
            }
            if is_file(indexed.entry.mode) {
                missing.push(path);
            } else if indexed.entry.mode == GITLINK {
                // A submodule that is not checked out needs an empty directory, else git counts it
                // as deleted.
                let created = place.make_folder(path);
                created.map_err(self.file_error("create", path))?;
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let call = self
            .call(["checkout-index", "-u", "-q", "-z", "--stdin"])
            .with_long_timeout();
        // A file that appeared meanwhile is not replaced, and git reports that by its exit code.
        let _replaced_nothing = call.input(join_zero_terminated(missing)).answer()?;
        Ok(())
    }

    /// Clears the flags that keep git from checking some of the changed files.
    pub(crate) fn unhide_files(
        &self,
        index: &Path,
        status: &WorktreeStatus,
    ) -> Result<(), GitError> {
        let hidden = status
            .index
            .iter()
            .filter(|it| status.changes.contains_key(&it.path));
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for indexed in hidden {
            if indexed.is_hidden {
                assumed.push(indexed.path.as_path());
            }
            if indexed.is_skipped {
                skipped.push(indexed.path.as_path());
            }
        }
        for (flag, paths) in [
            ("--no-assume-unchanged", assumed),
            ("--no-skip-worktree", skipped),
        ] {
            if !paths.is_empty() {
                let call = self.call_on(index, ["update-index", flag, "-z", "--stdin"]);
                call.input(join_zero_terminated(paths)).succeed()?;
            }
        }
        Ok(())
    }
}

fn settle_result(status: &WorktreeStatus) -> SettleResult {
    if status.is_clean() {
        return SettleResult::Clean;
    }
    let others = status.repositories.iter().chain(&status.moved_submodules);
    SettleResult::Stuck(status.changes.keys().chain(others).cloned().collect())
}
