//! Repairs a checkout whose move to another commit was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;
use serde::{Deserialize, Serialize};

use crate::git::pool::saved_contents::SavedContents;
use crate::git::repository::call::{join_zero_terminated, path, split_zero_terminated};
use crate::git::worktree::disk::{DiskEntry, HashMode};
use crate::git::worktree::entry::Entry;
use crate::git::worktree::status::is_file;
use crate::git::{Git, GitError, MergeObstacle, Worktree};
use crate::private_file;
use crate::safe_directory::EntryKind;

/// The note, in git's directory for the worktree.
const NOTE: &str = "orange-forward.json";

/// Upper bound on a note's size.
const LIMIT: u64 = 4096;

/// The commits between which a checkout was moving.
#[derive(Serialize, Deserialize)]
struct Note {
    from: CommitId,
    to: CommitId,
}

impl Git {
    /// The paths that differ between two commits.
    pub(crate) fn changed_paths(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Vec<PathBuf>, GitError> {
        let words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let call = self
            .call(words)
            .with_arguments([from.as_str(), to.as_str(), "--"]);
        Ok(split_zero_terminated(&call.bytes()?).map(path).collect())
    }
}

impl Worktree<'_> {
    /// Records the commits between which the files are about to move.
    pub(crate) fn note_fast_forward(&self, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        let path = self.directory().join(NOTE);
        let (from, to) = (from.clone(), to.clone());
        let bytes = serde_json::to_vec(&Note { from, to });
        let bytes = bytes.map_err(|error| GitError::system("write", &path)(error.into()))?;
        Ok(private_file::write(&path, &bytes)?)
    }

    /// Removes the note once the files match the branch.
    pub(crate) fn remove_note(&self) -> Result<(), GitError> {
        let path = self.directory().join(NOTE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::system("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Undoes an interrupted move: resets the files that it was changing to HEAD, if each of them
    /// matches one of the commits involved. Any other content may be the user's work, and stays.
    pub(crate) fn recover(&self) -> Result<Option<MergeObstacle>, GitError> {
        let path = self.directory().join(NOTE);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let note = serde_json::from_slice::<Note>(&private_file::read(&path, LIMIT)?);
        // A note that was not completely written was never acted on.
        let (Ok(Note { from, to }), Some(head)) = (note, self.head()?.commit().cloned()) else {
            self.remove_note()?;
            return Ok(None);
        };
        // The lock may be held by any program, because this may be the user's own checkout.
        self.await_unlocked()?;
        let git = self.git();
        let contents = || {
            let saved = SavedContents::default().and_commit(git, &from)?;
            saved.and_commit(git, &to)?.and_commit(git, &head)
        };
        self.restore_held(contents)?;
        let saved = contents()?;
        let paths: BTreeSet<PathBuf> = git.changed_paths(&from, &to)?.into_iter().collect();
        let found = self.on_disk(&paths, HashMode::Hash)?;
        let check = saved.judge_found(self, &found, true)?;
        let index = self.index()?;
        let unknown = index.iter().filter(|it| paths.contains(&it.path));
        let unknown =
            unknown.filter(|it| it.stage != 0 || !saved.is_in_commits(&it.path, &it.entry));
        let mut files: BTreeSet<PathBuf> = unknown.map(|it| it.path.clone()).collect();
        files.extend(check.unproved);
        if files.is_empty() {
            files = self.rewrite(&head, &found, check.proved)?;
        }
        if files.is_empty() {
            self.remove_note()?;
            return Ok(None);
        }
        Ok(Some(MergeObstacle::UncommittedChanges {
            checkout: self.path().to_owned(),
            files: files.into_iter().collect(),
        }))
    }

    /// Restores saved files, and their index entries, to those of a commit; returns the paths that
    /// were changed meanwhile.
    fn rewrite(
        &self,
        commit: &CommitId,
        found: &BTreeMap<PathBuf, DiskEntry>,
        mut proved: BTreeMap<PathBuf, Entry>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let before = self.index_bytes()?;
        let tree = self.git().tree(commit.as_str())?;
        proved.retain(|path, entry| tree.get(path) != Some(entry));
        let different = self.remove_proved(&proved)?;
        if !different.is_empty() {
            return Ok(different);
        }
        let nothing = self.git().null_id();
        let mut lines = Vec::new();
        let mut absent: Vec<&Path> = Vec::new();
        let place = self.place()?;
        for path in found.keys() {
            let (mode, id) = match tree.get(path) {
                Some(entry) => (entry.mode, entry.id.as_str()),
                None => (0, nothing.as_str()),
            };
            lines.extend_from_slice(format!("{mode:o} {id} 0\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
            let kind = place.kind(path).map_err(self.file_error("inspect", path))?;
            if kind == EntryKind::Absent && is_file(mode) {
                absent.push(path);
            }
        }
        let scratch = self.scratch()?;
        let update = ["update-index", "-z", "--index-info"];
        self.call_on(&scratch, update).input(lines).succeed()?;
        if !self.swap_index(before.as_deref(), &scratch)? {
            return Ok(found.keys().cloned().collect());
        }
        let write = self
            .call(["checkout-index", "-u", "-q", "-z", "--stdin"])
            .with_long_timeout();
        // A file that appeared meanwhile is not replaced, and git reports that by its exit code.
        let _replaced_nothing = write.input(join_zero_terminated(absent)).answer()?;
        Ok(BTreeSet::new())
    }
}
