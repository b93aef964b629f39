//! Renames a task's branch, also in its sandboxes, and its tmux session.

use orange_engine::input::{Request, RequestKind};
use orange_engine::names::{BranchName, TaskId};
use orange_engine::role::Role;
use orange_store::{Store, WorkspaceState};

use crate::DriverError;
use crate::workspaces::Workspaces;

/// A branch that was renamed.
pub(crate) struct RenamedBranch {
    from: BranchName,
    to: BranchName,
}

impl Workspaces {
    /// Renames the branch in the task's worktree, if a request asks for a name that does not exist
    /// yet.
    ///
    /// This happens before the decision, because the decision is about the new branch. If the
    /// process dies in between, the branch is renamed as by `git branch -m`, and the same request
    /// succeeds later.
    pub(crate) fn rename_branch(
        &self,
        store: &Store,
        id: &TaskId,
        request: &Request,
    ) -> Result<Option<RenamedBranch>, DriverError> {
        let RequestKind::Amend {
            branch: Some(to), ..
        } = &request.kind
        else {
            return Ok(None);
        };
        let task = store.require(id)?.task;
        let workspace = store.workspace_of(id)?;
        let workspace = workspace.filter(|it| matches!(it.state, WorkspaceState::Bound(_)));
        let may_rename = matches!(request.by, Role::Human | Role::Worker);
        let Some(workspace) = workspace.filter(|_| may_rename && *to != task.branch) else {
            return Ok(None);
        };
        let (project, git) = self.repository_of(&task)?;
        let worktree = git.worktree(&workspace.path)?;
        let is_on_branch = worktree.branch()?.as_ref() == Some(&task.branch);
        if !is_on_branch || *to == project.default_branch || git.branch(to)?.is_some() {
            return Ok(None);
        }
        worktree.rename_branch(&task.branch, to)?;
        Ok(Some(RenamedBranch {
            from: task.branch,
            to: to.clone(),
        }))
    }

    /// Undoes a rename whose request was refused.
    pub(crate) fn undo_rename(
        &self,
        store: &Store,
        id: &TaskId,
        renamed: &RenamedBranch,
    ) -> Result<(), DriverError> {
        let Some(workspace) = store.workspace_of(id)? else {
            return Ok(());
        };
        let (_, git) = self.repository_of(&store.require(id)?.task)?;
        let worktree = git.worktree(&workspace.path)?;
        Ok(worktree.rename_branch(&renamed.to, &renamed.from)?)
    }

    /// Renames the branch in the task's sandboxes, and names its tmux session after it; if this
    /// fails, running `update --branch` again repeats it.
    pub(crate) fn complete_rename(&self, store: &Store, id: &TaskId) -> Result<(), DriverError> {
        let task = store.require(id)?.task;
        self.refresh_private_repositories(store, &task);
        if task.runs.is_empty() {
            return Ok(());
        }
        let renamed = self
            .context
            .tmux
            .rename_session(id, &task.project, &task.branch);
        Ok(renamed?)
    }
}
