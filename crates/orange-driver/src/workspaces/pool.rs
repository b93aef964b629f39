//! Picks the workspace that a plan reserves for its task.

use orange_config::{Project, WhenFull};
use orange_engine::Task;
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, RequestKind};
use orange_engine::names::WorkspaceName;
use orange_store::{Reservation, Store, WorkspaceRecord, WorkspaceState};

use crate::DriverError;
use crate::failure::Failure;
use crate::workspaces::Workspaces;

impl Workspaces {
    /// The workspace to reserve for a task whose plan acquires one, if the pool has room.
    ///
    /// If the pool has no room, the plan is recorded all the same: the acquire effect will fail,
    /// and the workflow reacts to that. If the settings refuse starts in a full pool, the caller
    /// gets an error and nothing is recorded.
    pub(crate) fn workspace_to_reserve(
        &self,
        store: &mut Store,
        task: &Task,
        events: &[Event],
        cause: &Cause,
    ) -> Result<Option<WorkspaceName>, DriverError> {
        let mut events = events.iter();
        let needs_workspace = events.any(|event| {
            matches!(&event.fact, Fact::EffectPlanned(planned)
                if matches!(planned.effect, Effect::AcquireWorkspace { .. }))
        });
        if !needs_workspace || store.workspace_of(&task.id)?.is_some() {
            return Ok(None);
        }
        // If the project is not registered, the acquire effect fails, not the decision.
        let Ok(projects) = self.context.projects() else {
            return Ok(None);
        };
        let Ok(project) = projects.require(&task.project) else {
            return Ok(None);
        };
        // With invalid settings, the acquire effect fails too.
        let Ok(settings) = self.context.settings(Some(project)) else {
            return Ok(None);
        };
        let found = self.find_candidate(store, project, settings.pool.size)?;
        if found.is_none() && settings.pool.when_full == WhenFull::Refuse && is_refusable(cause) {
            return Err(pool_full(store, task, settings.pool.size)?);
        }
        Ok(found)
    }

    /// A free workspace, or a new one while the pool has room; `None` when the pool is full.
    pub(crate) fn find_candidate(
        &self,
        store: &mut Store,
        project: &Project,
        pool_size: u32,
    ) -> Result<Option<WorkspaceName>, DriverError> {
        let all = store.workspaces(&project.name)?;
        // A pool that was shrunk may have more free workspaces than it has room for.
        let held = all.iter().filter(|it| {
            matches!(
                it.state,
                WorkspaceState::Reserved(_) | WorkspaceState::Bound(_)
            )
        });
        if held.count() >= pool_size as usize {
            return Ok(None);
        }
        if let Some(free) = all.iter().find(|it| it.state == WorkspaceState::Free) {
            return Ok(Some(free.name.clone()));
        }
        let number = all.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        self.add_to_pool(store, project, number).map(Some)
    }

    /// Adds a workspace to the pool, by name only; its worktree is created when needed.
    pub(crate) fn add_to_pool(
        &self,
        store: &mut Store,
        project: &Project,
        number: u32,
    ) -> Result<WorkspaceName, DriverError> {
        let name = WorkspaceName::new(format!("{}--{number}", project.name));
        let path = self.context.home.workspaces().join(name.as_str());
        self.require_port_offset(&name)?;
        store.add_workspace(&name, &project.name, number, &path)?;
        Ok(name)
    }

    /// Reserves a workspace for a task whose plan reserved none, because the task's creation
    /// planned the effect or the first workspace turned out to be unusable.
    pub(crate) fn reserve(
        &self,
        store: &mut Store,
        task: &Task,
        project: &Project,
    ) -> Result<WorkspaceRecord, Failure> {
        let settings = self
            .context
            .settings(Some(project))
            .map_err(Failure::permanent)?;
        let size = settings.pool.size;
        let next = |store: &mut Store| self.find_candidate(store, project, size);
        while let Some(name) = next(store).map_err(Failure::temporary)? {
            let reserved = store.reserve_workspace(&name, &task.id);
            if reserved.map_err(Failure::temporary)? == Reservation::Reserved {
                let found = store.workspace_of(&task.id).map_err(Failure::temporary)?;
                if let Some(found) = found {
                    return Ok(found);
                }
            }
        }
        let name = &project.name;
        Err(Failure::permanent(format!(
            "all {size} workspaces of project `{name}` are in use; finish or cancel a task, or \
             raise `pool_size` in projects.json or `pool.size` in config.toml; `orange workspace \
             list` shows them"
        )))
    }
}

/// Whether a caller waits for the answer and can get an error; a manual edit has no caller.
fn is_refusable(cause: &Cause) -> bool {
    match cause {
        Cause::Request(request) => !matches!(request.kind, RequestKind::HandEdit { .. }),
        Cause::Observation(_) => false,
    }
}

/// The error that lists which task holds which workspace.
fn pool_full(store: &Store, task: &Task, size: u32) -> Result<DriverError, DriverError> {
    let all = store.workspaces(&task.project)?.into_iter();
    let holders = all.filter_map(|it| match it.state {
        WorkspaceState::Reserved(holder) | WorkspaceState::Bound(holder) => Some((it.name, holder)),
        WorkspaceState::Free | WorkspaceState::Retired => None,
    });
    Ok(DriverError::PoolFull {
        task: task.id.clone(),
        project: task.project.clone(),
        size,
        holders: holders.collect(),
    })
}
