//! The index as a file: copied for trials, replaced only if unchanged.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::git::repository::own_directory::read_file;
use crate::git::{GitError, Worktree};

/// The copy, in git's directory for the worktree.
const SCRATCH: &str = "orange-scratch-index";

/// Upper bound on an index's size.
const LIMIT: u64 = 4 * 1024 * 1024 * 1024;

impl Worktree<'_> {
    /// The index, byte for byte; a worktree that was never filled has none.
    pub(crate) fn index_bytes(&self) -> Result<Option<Vec<u8>>, GitError> {
        let path = self.directory().join("index");
        read_file(&path, LIMIT).map_err(GitError::system("read", &path))
    }

    /// A copy of the index.
    pub(crate) fn scratch(&self) -> Result<PathBuf, GitError> {
        self.copy_of_index(SCRATCH)
    }

    /// A copy of the index under a name that no other process uses now.
    pub(crate) fn copy_of_index(&self, name: &str) -> Result<PathBuf, GitError> {
        let scratch = self.directory().join(name);
        let locked = self.directory().join(format!("{name}.lock"));
        for leftover in [&scratch, &locked] {
            // No other process uses the name, so an existing file was left by a process that was
            // killed.
            let _absent = fs::remove_file(leftover);
        }
        self.copy_index_to(&scratch)?;
        Ok(scratch)
    }

    /// Copies the index, if there is one, with its modification time.
    ///
    /// git trusts the recorded size and time of a file only if the index is newer: a file that is
    /// rewritten in the second in which it was recorded would look unchanged in a newer copy.
    pub(crate) fn copy_index_to(&self, path: &Path) -> Result<(), GitError> {
        let index = self.directory().join("index");
        // The time is read before the bytes: if the index is replaced in between, the earlier time
        // is safe.
        let written_at = fs::metadata(&index).and_then(|found| found.modified());
        let Some(bytes) = self.index_bytes()? else {
            return Ok(());
        };
        let copy = || {
            fs::write(path, bytes)?;
            File::options()
                .write(true)
                .open(path)?
                .set_modified(written_at?)
        };
        copy().map_err(GitError::system("copy the index to", path))
    }

    /// Replaces the index if it has not changed since it was read; returns whether it was replaced.
    /// git's own lock is held meanwhile, so that nothing staged by another process is lost.
    pub(crate) fn swap_index(
        &self,
        expected: Option<&[u8]>,
        scratch: &Path,
    ) -> Result<bool, GitError> {
        let lock = self.directory().join("index.lock");
        let taken = OpenOptions::new().write(true).create_new(true).open(&lock);
        match taken {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            taken => taken.map_err(GitError::system("lock", &lock))?,
        };
        let swapped = self.index_bytes().and_then(|now| {
            let is_same = now.as_deref() == expected;
            if is_same {
                let index = self.directory().join("index");
                fs::rename(scratch, &index).map_err(GitError::system("replace", &index))?;
            }
            Ok(is_same)
        });
        fs::remove_file(&lock).map_err(GitError::system("unlock", &lock))?;
        swapped
    }
}
