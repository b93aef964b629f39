//! Lists the ignored files of a worktree, and moves them aside.
//!
//! No commit contains them, so nothing here deletes: they are moved, whole, to a separate directory
//! on the same disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::repository::call::{path, split_zero_terminated};
use crate::git::{GitError, Worktree};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// A file that git ignores, or a directory that it ignores completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredEntry {
    /// Its path relative to the worktree.
    pub path: PathBuf,
    pub bytes: u64,
}

impl Worktree<'_> {
    /// The entries that git ignores here; a fully ignored directory is one entry.
    pub fn ignored_entries(&self) -> Result<Vec<IgnoredEntry>, GitError> {
        self.other_entries(&["--ignored"])
    }

    /// The entries that git neither knows nor ignores; a directory without known files is one
    /// entry, and so is a nested repository.
    pub(crate) fn untracked_entries(&self) -> Result<Vec<IgnoredEntry>, GitError> {
        self.other_entries(&[])
    }

    fn other_entries(&self, which: &[&str]) -> Result<Vec<IgnoredEntry>, GitError> {
        let words = ["ls-files", "-z", "--others", "--directory"];
        let text = self
            .call(words)
            .with_arguments(["--exclude-standard"])
            .with_arguments(which)
            .bytes()?;
        let place = self.place()?;
        let mut found = Vec::new();
        for part in split_zero_terminated(&text) {
            let path = path(part.strip_suffix(b"/").unwrap_or(part));
            let bytes = self.size(&place, &path)?;
            found.push(IgnoredEntry { path, bytes });
        }
        Ok(found)
    }

    fn size(&self, place: &SafeDirectory, path: &Path) -> Result<u64, GitError> {
        let failed = self.file_error("inspect", path);
        let files = match place.kind(path).map_err(&failed)? {
            EntryKind::Folder => place.files(path).map_err(&failed)?,
            EntryKind::Absent => Vec::new(),
            EntryKind::Entry(_) | EntryKind::Other => vec![path.to_owned()],
        };
        // A file that vanishes while it is counted counts as nothing.
        let sizes = files.iter().filter_map(|file| {
            let found = fs::symlink_metadata(self.path().join(file));
            found.ok().map(|found| found.len())
        });
        Ok(sizes.sum())
    }

    /// Moves ignored entries into a directory that no other process uses; returns those that moved.
    ///
    /// If this is killed midway, every file is in one of the two places.
    pub fn move_aside(
        &self,
        entries: &[IgnoredEntry],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        fs::create_dir_all(folder).map_err(GitError::system("create", folder))?;
        let from = self.place()?;
        let to = SafeDirectory::open(folder).map_err(GitError::system("open", folder))?;
        let mut moved = Vec::new();
        for entry in entries {
            let path = &entry.path;
            let failed = self.file_error("move aside", path);
            if from.kind(path).map_err(&failed)? == EntryKind::Absent {
                continue;
            }
            if to.move_from(&from, path, path).map_err(&failed)? {
                from.remove_empty_parents(path);
                moved.push(path.clone());
            }
        }
        Ok(moved)
    }
}
