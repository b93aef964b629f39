//! Locks on the index: held by a process, or left behind.

use std::fs;
use std::path::PathBuf;

use orange_config::clock::Deadline;

use crate::git::{GitError, Worktree};
use crate::process;

/// The new name of a lock that no process holds any more.
const ABANDONED_LOCK: &str = "orange-left-index.lock";

impl Worktree<'_> {
    pub(crate) fn is_locked(&self) -> bool {
        fs::symlink_metadata(self.directory().join("index.lock")).is_ok()
    }

    /// Waits until the index is not locked. The lock itself is never removed: in the user's own
    /// checkout, any program may hold it.
    pub(crate) fn await_unlocked(&self) -> Result<(), GitError> {
        let lock = self.directory().join("index.lock");
        let is_gone = || !self.is_locked();
        if is_gone() || Deadline::after(self.git().caller.timeouts.lock).wait_for(is_gone) {
            return Ok(());
        }
        let worktree = self.path().to_owned();
        Err(GitError::Locked { worktree, lock })
    }

    /// Waits for a lock on the index. If the lock stays although no git runs in the worktree, it is
    /// moved aside, not deleted; if it is unknown whether git runs there, the lock is respected.
    pub(crate) fn require_unlocked(&self) -> Result<(), GitError> {
        let Err(GitError::Locked { worktree, lock }) = self.await_unlocked() else {
            return Ok(());
        };
        let is_abandoned =
            process::processes_in(&worktree, "git").is_ok_and(|found| found.is_empty());
        if !is_abandoned {
            return Err(GitError::Locked { worktree, lock });
        }
        let aside: PathBuf = self.directory().join(ABANDONED_LOCK);
        fs::rename(&lock, aside).map_err(GitError::system("move aside", &lock))
    }
}
