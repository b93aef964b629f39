//! The branch that git inside is on, and its renames.

use std::io::Read as _;
use std::path::Path;

use orange_engine::names::BranchName;

use super::{Inside, PrivateRepository};
use crate::command::CommandExit;
use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError};
use crate::safe_directory::SafeDirectory;

/// Upper bound on the size of a `HEAD`, and of an answer.
const LIMIT: usize = 4096;

impl PrivateRepository {
    /// The branch that the worktree is on inside, by the file of its `HEAD`, as data. `None` if it
    /// is on none, as during a rebase.
    pub fn branch_inside(&self) -> Option<BranchName> {
        let place = SafeDirectory::open(&self.common_directory()).ok()?;
        let worktree = self.record().ok()?.worktree;
        let head = Path::new("worktrees").join(worktree).join("HEAD");
        let mut text = String::new();
        let limit = u64::try_from(LIMIT).ok()?;
        let file = place.open_file(&head).ok()?;
        file.take(limit).read_to_string(&mut text).ok()?;
        let name = text.trim_end().strip_prefix("ref: refs/heads/")?;
        let branch = BranchName::new(name);
        branch_ref(&branch).ok().map(|_| branch)
    }
}

impl Git {
    /// Renames the task's branch inside, after it was renamed outside. Returns why git inside
    /// refused, if it did.
    pub fn rename_private(
        &self,
        repository: &mut PrivateRepository,
        to: &BranchName,
        inside: Inside<'_>,
    ) -> Result<Option<String>, GitError> {
        let patience = self.caller.timeouts.lock;
        let _lock = PrivateRepository::lock_folder(&repository.folder, patience)?;
        let mut record = repository.record()?;
        // The agent may have renamed it first.
        if repository.branch_inside().as_ref() != Some(to) {
            let call = inside(&["branch", "-m", record.branch.as_str(), to.as_str()]);
            let call = call.limit(LIMIT);
            let output = call.run()?;
            if output.ending != CommandExit::Code(0) {
                return Ok(Some(call.error_for(output).without_command()));
            }
        }
        record.branch = to.clone();
        repository.write_record(&record)?;
        repository.branch = to.clone();
        Ok(None)
    }
}
