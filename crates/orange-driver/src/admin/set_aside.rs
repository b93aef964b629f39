//! Sets worktrees aside whose repository is gone.
//!
//! Without the repository, git cannot save what is in such a worktree. So its directory is moved
//! whole, and nothing in it is changed.

use std::fs;
use std::path::PathBuf;

use orange_config::{Project, clock, reason};
use orange_effects::private_file;
use orange_engine::effect::Effect;
use orange_engine::names::{TaskId, WorkspaceName};
use orange_store::{Store, WorkspaceRecord, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;
use crate::admin::gc::GcReport;
use crate::admin::worktree_repository::open_worktree;
use crate::context::lock::Lock;
use crate::steps::pinned_workflow;
use crate::workspaces::list::is_unchanged;

/// A workspace that was taken out of the pool, because its repository is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SetAsideWorktree {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Where its worktree was.
    pub path: PathBuf,
    /// Where the worktree is now; absent if it was gone, too.
    pub moved_to: Option<PathBuf>,
}

impl Admin {
    /// Sets aside the worktrees that finished tasks hold, and the retired ones if no task is open.
    pub(super) fn set_aside_worktrees(
        &self,
        store: &mut Store,
        project: &Project,
        collected: &mut GcReport,
    ) -> Result<(), DriverError> {
        let confirmed = collected.confirmed;
        let has_open_tasks = !self.project_usage(&project.name)?.open_tasks.is_empty();
        for record in store.workspaces(&project.name)? {
            let set_aside = match &record.state {
                WorkspaceState::Bound(task) | WorkspaceState::Reserved(task) => {
                    self.set_aside_of_finished(store, project, task, &record, confirmed)
                }
                WorkspaceState::Retired if !has_open_tasks => {
                    let consent = require_consent(project, &record, confirmed);
                    consent.and_then(|()| self.set_aside_worktree(store, project, &record))
                }
                WorkspaceState::Retired | WorkspaceState::Free => continue,
            };
            let set_aside = set_aside.map(|it| collected.set_aside_worktrees.push(it));
            collected.note(project, Some(&record.name), set_aside);
        }
        Ok(())
    }

    /// Sets aside the worktree of a task, unless the task or one of its agents may still need it.
    fn set_aside_of_finished(
        &self,
        store: &mut Store,
        project: &Project,
        id: &TaskId,
        record: &WorkspaceRecord,
        confirmed: bool,
    ) -> Result<SetAsideWorktree, DriverError> {
        let directory = store.require(id)?.directory;
        let lock = Lock::to_perform(&directory)?;
        let _lock = lock.ok_or_else(|| DriverError::TaskBusy { task: id.clone() })?;
        let stored = store.require(id)?;
        let task = &stored.task;
        let is_over = pinned_workflow(&stored)?.is_terminal(&task.status);
        let mut runs = task.runs.values();
        let mut pending = task.pending.iter();
        let has_agents = runs.any(|run| !run.state.has_ended())
            || pending.any(|it| matches!(it.planned.effect, Effect::Kill(_)));
        if !is_over || has_agents {
            return Err(DriverError::WorkspaceInUse {
                workspace: record.name.clone(),
                task: id.clone(),
            });
        }
        require_consent(project, record, confirmed)?;
        orange_store::release(store, id, clock::now())?;
        self.set_aside_worktree(store, project, record)
    }

    /// Moves the worktree, then takes the workspace out of the pool. Can be repeated after it was
    /// interrupted.
    fn set_aside_worktree(
        &self,
        store: &mut Store,
        project: &Project,
        record: &WorkspaceRecord,
    ) -> Result<SetAsideWorktree, DriverError> {
        let name = &record.name;
        let _lock = self.context.lock_workspace(name)?;
        if !is_unchanged(store, record)? {
            return Err(DriverError::WorkspaceBusy(name.clone()));
        }
        let problem = match open_worktree(&record.path, &self.context.environment) {
            Ok(None) => None,
            Ok(Some(_)) => Some(format!(
                "git still finds its repository; run `orange project update {} --path DIRECTORY`",
                project.name
            )),
            Err(reason) => Some(reason),
        };
        if let Some(reason) = problem {
            return Err(DriverError::WorkspaceNotRemoved {
                workspace: name.clone(),
                path: record.path.clone(),
                reason,
            });
        }
        let moved_to = self.move_worktree_aside(record)?;
        store.free_workspace(record)?;
        self.workspaces.free_port_offset(name)?;
        store.forget_workspace(name)?;
        Ok(SetAsideWorktree {
            workspace: name.clone(),
            path: record.path.clone(),
            moved_to,
        })
    }

    /// Moves a directory whole; returns where it is now, or `None` if it does not exist.
    fn move_worktree_aside(
        &self,
        record: &WorkspaceRecord,
    ) -> Result<Option<PathBuf>, DriverError> {
        let path = &record.path;
        if fs::symlink_metadata(path).is_err_and(|it| it.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let name = format!("{}-{}", record.name, clock::now().millis());
        let target = self.context.home.set_aside().join(name);
        let failed = |reason: String| DriverError::File {
            attempt: "move aside",
            path: path.clone(),
            reason,
        };
        private_file::make_folder(&target).map_err(|error| failed(error.to_string()))?;
        fs::rename(path, &target).map_err(|error| failed(reason(&error)))?;
        Ok(Some(target))
    }
}

/// The repository may come back, and then its work can be saved. So a worktree that exists is moved
/// only if the user has confirmed it.
fn require_consent(
    project: &Project,
    record: &WorkspaceRecord,
    confirmed: bool,
) -> Result<(), DriverError> {
    if confirmed || !record.path.exists() {
        return Ok(());
    }
    Err(DriverError::WorkspaceNotRemoved {
        workspace: record.name.clone(),
        path: record.path.clone(),
        reason: format!(
            "its repository is missing; put it back, or name its new place with `orange project \
             update {} --path DIRECTORY`, then run `orange workspace gc` again; if it is gone for \
             good, run `orange workspace gc --yes`, which moves the worktree aside",
            project.name
        ),
    })
}
