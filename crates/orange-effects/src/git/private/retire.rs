//! Puts private repositories aside when their worktree is released.

use std::fs;

use super::PrivateRepository;
use super::create::put_aside;
use crate::git::{Git, GitError};

impl PrivateRepository {
    /// Puts the repository aside, with everything that was not imported, such as stashes and other
    /// branches. The next run of the task gets a new one.
    pub fn retire(&self, git: &Git) -> Result<(), GitError> {
        let patience = git.caller.timeouts.lock;
        let _lock = Self::lock_folder(&self.folder, patience)?;
        let current = self.folder.join("current");
        if fs::symlink_metadata(&current).is_ok() {
            put_aside(&self.folder, &current)?;
        }
        git.forget_borrowed(&self.task)
    }
}
