//! The worktree in which merged results are verified.

use std::fs;
use std::io;
use std::path::PathBuf;

use orange_engine::names::CommitId;

use crate::git::{Git, GitError, Slot, SlotRefusal};

impl Git {
    /// Puts exactly the files of a commit into a worktree that is used for nothing else; returns
    /// its path. The caller holds the merge lock.
    ///
    /// Files that git ignores stay, so that a build need not start from nothing. Everything else
    /// that differs from the commit comes from an earlier verification and is removed.
    pub fn check_out_for_verification(
        &self,
        slot: &Slot<'_>,
        commit: &CommitId,
    ) -> Result<Result<PathBuf, SlotRefusal>, GitError> {
        let worktree = match self.workspace(slot, &self.worktrees()?, commit)? {
            Ok(worktree) => worktree,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // Nothing else uses this worktree, so any lock was left by a process that was killed.
        let lock = worktree.directory().join("index.lock");
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(GitError::system("remove", &lock)(error));
            }
            _ => {}
        }
        let reset = ["reset", "--quiet", "--hard", commit.as_str(), "--"];
        worktree.call(reset).with_long_timeout().succeed()?;
        let clean = ["clean", "--quiet", "-ffd"];
        worktree.call(clean).with_long_timeout().succeed()?;
        Ok(Ok(worktree.path().to_owned()))
    }
}
