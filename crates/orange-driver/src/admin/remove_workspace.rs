//! Removes workspaces that no task has.

use std::path::{Path, PathBuf};

use orange_config::Project;
use orange_config::clock;
use orange_effects::git::{Git, RemoveRequest, RemoveResult, Slot};
use orange_engine::names::WorkspaceName;
use orange_store::{RowFilter, Store, StoreError, WorkspaceRecord, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;
use crate::workspaces::lifecycle::slot;
use crate::workspaces::list::is_unchanged;

/// A workspace that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RemovedWorkspace {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Where its worktree was.
    pub path: PathBuf,
    /// Where ignored files that were in it are now.
    pub moved_to: Option<PathBuf>,
    /// Where the git directories of its submodules are now, if they may have commits that none of
    /// their remotes has.
    pub submodules: Option<PathBuf>,
}

impl Admin {
    /// Removes the worktree of an idle or retired workspace, and the workspace from the pool.
    /// Ignored files are moved aside.
    pub fn remove_workspace(&self, name: &WorkspaceName) -> Result<RemovedWorkspace, DriverError> {
        self.callers.require_user("remove a workspace")?;
        let mut store = self.context.store()?;
        for project in self.workspaces.select_projects(None)? {
            let all = store.workspaces(&project.name)?;
            if let Some(record) = all.into_iter().find(|it| it.name == *name) {
                let git = self.workspaces.open_repository(&project)?;
                return self.remove_idle(&mut store, &git, &project, &record);
            }
        }
        let workspace = name.clone();
        Err(StoreError::UnknownWorkspace { workspace }.into())
    }

    /// Removes a workspace unless a task has it. Can be repeated after it was interrupted.
    pub(crate) fn remove_idle(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
    ) -> Result<RemovedWorkspace, DriverError> {
        let name = &record.name;
        let not_removed = |reason: String| DriverError::WorkspaceNotRemoved {
            workspace: name.clone(),
            path: record.path.clone(),
            reason,
        };
        if let WorkspaceState::Bound(task) | WorkspaceState::Reserved(task) = &record.state {
            return Err(DriverError::WorkspaceInUse {
                workspace: name.clone(),
                task: task.clone(),
            });
        }
        let _lock = self.context.lock_workspace(name)?;
        if !is_unchanged(store, record)? {
            return Err(DriverError::WorkspaceBusy(name.clone()));
        }
        if record.state == WorkspaceState::Retired {
            let checked = self.check_retired(store, git, project, record)?;
            checked.map_err(not_removed)?;
        }
        let (moved_to, submodules) = self.remove_worktree(git, &slot(record), not_removed)?;
        if let Some(place) = &submodules {
            self.name_new_place(store, project, name, place)?;
        }
        self.workspaces.free_port_offset(name)?;
        store.forget_workspace(name)?;
        Ok(RemovedWorkspace {
            workspace: name.clone(),
            path: record.path.clone(),
            moved_to,
            submodules,
        })
    }

    /// Tells tasks that name the git directory of a submodule where it is now.
    fn name_new_place(
        &self,
        store: &mut Store,
        project: &Project,
        workspace: &WorkspaceName,
        place: &Path,
    ) -> Result<(), DriverError> {
        let rows = store.rows(&RowFilter {
            project: Some(project.name.clone()),
            without_ended: true,
            ..RowFilter::default()
        })?;
        let old_place = format!("/worktrees/{workspace}/modules/");
        for row in rows.rows {
            if row.attention.iter().any(|it| it.contains(&old_place)) {
                let place = place.display();
                let what = format!(
                    "the submodules of `{workspace}` are now in `{place}`: push from there"
                );
                self.steps.notice(store, &row.id, what)?;
                self.steps.sync_files(store, &row.id)?;
            }
        }
        Ok(())
    }

    /// Removes the worktree of a released workspace; returns where its ignored files are, and where
    /// the git directories of its submodules are.
    pub(crate) fn remove_worktree(
        &self,
        git: &Git,
        slot: &Slot<'_>,
        not_removed: impl FnOnce(String) -> DriverError,
    ) -> Result<(Option<PathBuf>, Option<PathBuf>), DriverError> {
        let folder = format!("{}-{}", slot.name, clock::now().millis());
        let aside = self.context.home.set_aside().join(folder);
        let removed = git.remove_workspace(&RemoveRequest {
            slot: *slot,
            trash: &self.context.home.removed().join(slot.name.as_str()),
            aside: &aside,
        })?;
        let submodules = match removed {
            RemoveResult::Removed { submodules } => submodules,
            RemoveResult::Absent => None,
            RemoveResult::Kept { reason } => return Err(not_removed(reason)),
        };
        Ok((Some(aside).filter(|it| it.exists()), submodules))
    }
}
