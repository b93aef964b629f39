//! Creates the worktree of a workspace.

use std::path::Path;

use orange_engine::names::{BranchName, CommitId, TaskId, WorkspaceName};

use super::acquire::AcquireRequest;
use super::{LOCK, SlotState};
use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError, ListedWorktree, Marker, Phase, Worktree};

/// A new branch, which a new worktree begins on.
pub(super) struct NewBranch<'a> {
    pub task: &'a TaskId,
    pub branch: &'a BranchName,
}

impl Git {
    /// Creates the worktree of a workspace that has none, on a new branch. Returns `None` where
    /// there is something at its path.
    ///
    /// A new worktree needs no check for unsaved work and no switch, so this starts half as many
    /// programs as creating it at a commit and then switching to the branch. A process that is
    /// killed leaves either a worktree that the next attempt takes for unfinished, and a branch
    /// without own commits; or a marker that leads the next attempt through the usual steps.
    pub(super) fn create_on_branch(
        &self,
        acquire: &AcquireRequest<'_>,
        listed: &[ListedWorktree],
        at: &CommitId,
    ) -> Result<Option<Worktree<'_>>, GitError> {
        branch_ref(acquire.branch)?;
        let path = acquire.slot.real_path()?;
        let state = self.slot_state(acquire.slot.name, &path, listed)?;
        if !matches!(state, SlotState::Nothing) {
            return Ok(None);
        }
        let (task, branch) = (acquire.task, acquire.branch);
        let on_branch = NewBranch { task, branch };
        self.create_worktree(acquire.slot.name, &path, at, Some(on_branch))?;
        let worktree = self.worktree(&path)?;
        worktree.fill_new()?;
        let marker = Marker {
            workspace: acquire.slot.name.clone(),
            phase: Phase::Bound {
                task: task.clone(),
                branch: branch.clone(),
            },
            is_refilling: false,
        };
        marker.write(worktree.directory())?;
        Ok(Some(worktree))
    }

    /// Creates a worktree without files, which its marker says. It is on the new branch, or
    /// detached.
    pub(super) fn create_worktree(
        &self,
        name: &WorkspaceName,
        path: &Path,
        at: &CommitId,
        new_branch: Option<NewBranch<'_>>,
    ) -> Result<(), GitError> {
        let words = ["worktree", "add", "--quiet", "--no-checkout", "--lock"];
        let call = self
            .call_recording(words)
            .with_arguments(["--reason", LOCK]);
        let call = match &new_branch {
            Some(new) => call.with_arguments(["-b", new.branch.as_str()]),
            None => call.with_arguments(["--detach"]),
        };
        let call = call.with_long_timeout().with_arguments(["--"]);
        call.with_arguments([path.as_os_str(), at.as_str().as_ref()])
            .succeed()?;
        let phase = new_branch.map_or(Phase::Idle, |new| Phase::Acquiring {
            task: new.task.clone(),
            branch: new.branch.clone(),
            from: at.clone(),
            to: at.clone(),
        });
        let marker = Marker {
            workspace: name.clone(),
            phase,
            is_refilling: true,
        };
        marker.write(self.worktree(path)?.directory())
    }
}

impl Worktree<'_> {
    /// Fills a worktree that has neither files nor an index. Fails if a file that it would write
    /// has appeared meanwhile.
    pub(super) fn fill_new(&self) -> Result<(), GitError> {
        let read = ["read-tree", "-m", "-u", "HEAD"];
        self.call(read).with_long_timeout().succeed()
    }
}
