//! Locks on the index: held by somebody, or left by the dead.

use std::fs;
use std::path::PathBuf;

use orange_config::clock::Deadline;

use crate::git::{GitError, Worktree};
use crate::process;

/// What a lock that nobody holds any more is called afterwards.
const LEFT: &str = "orange-left-index.lock";

impl Worktree<'_> {
    /// Whether somebody has the index locked.
    pub(crate) fn is_locked(&self) -> bool {
        fs::symlink_metadata(self.directory().join("index.lock")).is_ok()
    }

    /// Waits for a lock on the index of somebody's own checkout, where it may be held by a program
    /// that nobody knows, and is never touched.
    pub(crate) fn await_unlocked(&self) -> Result<(), GitError> {
        let lock = self.directory().join("index.lock");
        let is_gone = || !self.is_locked();
        if is_gone() || Deadline::after(self.git().caller.timeouts.lock).wait_for(is_gone) {
            return Ok(());
        }
        let worktree = self.path().to_owned();
        Err(GitError::Locked { worktree, lock })
    }

    /// Waits for a lock on the index. One that is still there although no git runs in the worktree
    /// is set aside, not deleted; if that cannot be known, it is respected.
    pub(crate) fn require_unlocked(&self) -> Result<(), GitError> {
        let Err(GitError::Locked { worktree, lock }) = self.await_unlocked() else {
            return Ok(());
        };
        let is_nobodys = process::working_in(&worktree, "git").is_ok_and(|found| found.is_empty());
        if !is_nobodys {
            return Err(GitError::Locked { worktree, lock });
        }
        let left: PathBuf = self.directory().join(LEFT);
        fs::rename(&lock, left).map_err(GitError::system("set aside", &lock))
    }
}
