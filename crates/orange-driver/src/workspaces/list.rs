//! Lists the workspaces of a project, and creates them in advance.

use std::path::PathBuf;

use orange_config::Project;
use orange_effects::disk_usage::disk_usage;
use orange_effects::git::Git;
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_store::{Store, StoreError, WorkspaceRecord, WorkspaceState};
use serde::Serialize;

use super::lifecycle::slot;
use crate::DriverError;
use crate::workspaces::Workspaces;

/// A workspace of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct WorkspaceInfo {
    /// Its name.
    pub name: WorkspaceName,
    /// Its project.
    pub project: ProjectName,
    /// Its number within the project.
    pub number: u32,
    /// Its worktree.
    pub path: PathBuf,
    /// `free`, `reserved`, `bound` or `retired`.
    pub state: &'static str,
    /// The task that it is reserved for or bound to.
    pub task: Option<TaskId>,
    /// The number to add to every port; a workspace from an older version gets one with its next
    /// task.
    pub port_offset: Option<u32>,
    /// Whether its worktree exists on disk.
    pub exists: bool,
    /// The bytes that its worktree takes on the disk, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
}

impl WorkspaceInfo {
    /// Counts the bytes that its worktree takes. Reads every directory in it.
    pub fn count_disk_usage(&mut self) {
        self.disk_bytes = disk_usage(&self.path).ok();
    }

    fn of(record: WorkspaceRecord, port_offset: Option<u32>) -> WorkspaceInfo {
        let (state, task) = match &record.state {
            WorkspaceState::Free => ("free", None),
            WorkspaceState::Reserved(task) => ("reserved", Some(task.clone())),
            WorkspaceState::Bound(task) => ("bound", Some(task.clone())),
            WorkspaceState::Retired => ("retired", None),
        };
        WorkspaceInfo {
            state,
            task,
            port_offset,
            exists: record.path.join(".git").exists(),
            disk_bytes: None,
            name: record.name,
            project: record.project,
            number: record.number,
            path: record.path,
        }
    }
}

impl Workspaces {
    /// The workspaces of one project, or of all.
    pub fn workspaces(
        &self,
        project: Option<&ProjectName>,
    ) -> Result<Vec<WorkspaceInfo>, DriverError> {
        let projects = self.select_projects(project)?;
        let store = match Store::open_read_only(&self.context.home) {
            Ok(store) => store,
            // Without a database there is no pool yet.
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut all = Vec::new();
        for project in projects {
            for record in store.workspaces(&project.name)? {
                let offset = self.port_offset(&record.name)?;
                all.push(WorkspaceInfo::of(record, offset));
            }
        }
        Ok(all)
    }

    /// The bytes that orange's home takes, with all worktrees.
    pub fn home_disk_usage(&self) -> Option<u64> {
        disk_usage(self.context.home.path()).ok()
    }

    /// The project with this name, or every project.
    pub(crate) fn select_projects(
        &self,
        name: Option<&ProjectName>,
    ) -> Result<Vec<Project>, DriverError> {
        let projects = self.context.projects()?;
        Ok(match name {
            Some(name) => vec![projects.require(name)?.clone()],
            None => projects.projects,
        })
    }

    /// Creates worktrees in advance, so that the first tasks need not wait for them; the whole pool
    /// by default.
    pub fn init_workspaces(
        &self,
        project: Option<&ProjectName>,
        count: Option<u32>,
    ) -> Result<Vec<WorkspaceInfo>, DriverError> {
        self.callers.require_user("create workspaces in advance")?;
        let project = self.callers.project_for(project)?;
        let size = self.context.settings(Some(&project))?.pool.size;
        let requested = count.unwrap_or(size);
        if requested > size {
            return Err(DriverError::PoolTooSmall {
                project: project.name,
                requested,
                size,
            });
        }
        let mut store = self.context.store()?;
        let git = self.open_repository(&project)?;
        loop {
            let all = store.workspaces(&project.name)?;
            let usable = all.iter().filter(|it| it.state != WorkspaceState::Retired);
            let missing = (requested as usize).saturating_sub(usable.count());
            let last = all.iter().map(|it| it.number).max().unwrap_or(0);
            if missing == 0 {
                break;
            }
            self.add_to_pool(&mut store, &project, last + 1)?;
        }
        for record in store.workspaces(&project.name)? {
            if record.state == WorkspaceState::Free {
                self.create_in_advance(&mut store, &git, &project, &record)?;
            }
        }
        self.workspaces(Some(&project.name))
    }

    fn create_in_advance(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
    ) -> Result<(), DriverError> {
        self.context
            .progress
            .report(format!("creating {}", record.name));
        let _lock = self.context.lock_workspace(&record.name)?;
        if !is_unchanged(store, record)? {
            return Ok(());
        }
        let made = git.prepare(&slot(record), Some(&project.default_branch))?;
        if made.is_err() {
            // Something else is at this path; leave it alone, and continue without this workspace.
            store.retire_workspace(&record.name)?;
        }
        Ok(())
    }
}

/// Whether a workspace is unchanged since it was listed; the caller holds its lock.
pub(crate) fn is_unchanged(store: &Store, record: &WorkspaceRecord) -> Result<bool, DriverError> {
    Ok(store.workspaces(&record.project)?.contains(record))
}
