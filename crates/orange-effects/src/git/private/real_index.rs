//! Makes indexes from a commit, never from an agent's bytes.

use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use crate::git::{GitError, Worktree};

/// The copy that becomes the index, in git's directory for the worktree.
const SCRATCH: &str = "orange-import-index";

/// How often an index that another process keeps changing is made again.
const ROUNDS: usize = 3;

/// The index is one file without caches, which only this repository could read.
const PLAIN: [&str; 4] = ["-c", "core.splitIndex=false", "-c", "index.sparse=false"];

impl Worktree<'_> {
    /// Makes the worktree's index that of a commit. What it knows about unchanged files stays, so
    /// that git need not read them again.
    pub(super) fn set_index_to(&self, commit: &CommitId) -> Result<(), GitError> {
        for _round in 0..ROUNDS {
            self.require_unlocked()?;
            let before = self.index_bytes()?;
            let scratch = self.copy_of_index(SCRATCH)?;
            self.read_commit_into(&scratch, commit)?;
            let refresh = self.call_on(&scratch, ["update-index", "-q", "--refresh"]);
            // Files that differ from the commit are an answer, not a failure.
            let _differs = refresh.with_long_timeout().answer()?;
            if self.swap_index(before.as_deref(), &scratch)? {
                return Ok(());
            }
        }
        Err(GitError::FilesChanging(self.path().to_owned()))
    }

    /// Makes the index of a commit beside the worktree's. It is to be moved into a new private
    /// repository.
    pub(super) fn make_index_of(&self, commit: &CommitId) -> Result<PathBuf, GitError> {
        let scratch = self.copy_of_index(SCRATCH)?;
        self.read_commit_into(&scratch, commit)?;
        Ok(scratch)
    }

    fn read_commit_into(&self, index: &Path, commit: &CommitId) -> Result<(), GitError> {
        let call = self.call_on(index, PLAIN);
        let call = call.with_arguments(["read-tree", "--reset", commit.as_str()]);
        call.with_long_timeout().succeed()
    }
}

/// Moves an index into a new private repository, which may be on another file system.
pub(super) fn move_index(index: &Path, path: &Path) -> Result<(), GitError> {
    let copied = fs::copy(index, path).map(drop);
    let _left_for_later = fs::remove_file(index);
    copied.map_err(GitError::system("write", path))
}
