//! The worktree in which merged results are verified.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_config::clock::Deadline;
use orange_engine::names::CommitId;

use crate::git::{Git, GitError, Slot, SlotRefusal};
use crate::process;

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
        self.await_no_git_in(&slot.real_path()?)?;
        let worktree = match self.workspace(slot, &self.worktrees()?, commit)? {
            Ok(worktree) => worktree,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // No git runs here any more, so any lock was left by one that was killed.
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

    /// Waits for a git that is still running in a worktree: it outlives a killed process that
    /// started it, and would go on writing the files of another commit.
    fn await_no_git_in(&self, worktree: &Path) -> Result<(), GitError> {
        let is_running =
            || process::own_processes_in(worktree, "git").is_ok_and(|found| !found.is_empty());
        let deadline = Deadline::after(self.caller.timeouts.long);
        if !is_running() || deadline.wait_for(|| !is_running()) {
            return Ok(());
        }
        Err(GitError::Locked {
            worktree: worktree.to_owned(),
            lock: worktree.join("index.lock"),
        })
    }
}
