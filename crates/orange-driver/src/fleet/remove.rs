//! Removes tasks that were taken away: agents, worktree, directory, rows.

use std::collections::BTreeSet;

use orange_config::{LogLevel, clock};
use orange_engine::effect::{Kill, KillScope};
use orange_engine::names::{RunId, TaskId};
use orange_fleet::ids::Epoch;
use orange_store::steps::reach;
use orange_store::{Store, WorkspaceState};
use serde_json::json;

use super::error::FleetError;
use super::{Runner, engine_task, fleet_task};
use crate::DriverError;
use crate::context::lock::Lock;
use crate::failure::Failure;

impl Runner {
    /// Removes every task that was taken away. Nothing is lost: unsaved work becomes a rescue, and
    /// the directory goes to the trash with the history that no log has.
    pub(super) fn remove_dropped(&self, store: &mut Store) -> Result<(), DriverError> {
        // No claim may put a new copy in place of the one that is removed.
        let _moving = self.lock_moves();
        let known = self.membership()?;
        for (task, epoch) in &known.dropped {
            let id = engine_task(task);
            let removed = self.remove(store, &id, Some(*epoch));
            if let Err(error) = removed {
                let context = &self.driver.context;
                let more = json!({ "error": error.to_string() });
                context.log(LogLevel::Warn, &id, "fleet.not_removed", more);
            }
        }
        Ok(())
    }

    /// Removes a copy that does not continue the log of a task that this runner has just claimed.
    pub(super) fn remove_copy(&self, store: &mut Store, id: &TaskId) -> Result<(), DriverError> {
        self.remove(store, id, None)
    }

    /// Stops the agents of tasks whose copy here and whose log disagree; everything else stays.
    pub(super) fn stop_halted(&self, store: &mut Store) -> Result<(), DriverError> {
        let known = self.membership()?;
        for (task, _) in known.link.tasks().iter().filter(|(_, it)| it.is_halted()) {
            let id = engine_task(task);
            if store.load(&id)?.is_some() {
                self.kill_agents(store, &id)?;
            }
        }
        Ok(())
    }

    fn remove(
        &self,
        store: &mut Store,
        id: &TaskId,
        epoch: Option<Epoch>,
    ) -> Result<(), DriverError> {
        let forget = |known: &mut orange_store::Membership| {
            let task = fleet_task(id);
            if known.dropped.get(&task).copied() == epoch {
                known.dropped.remove(&task);
            }
        };
        let Some(stored) = store.load(id)? else {
            store.update_membership(forget)?;
            return Ok(());
        };
        // Agents first: whatever a performer still does, they must not run beside those of the next
        // holder.
        self.kill_agents(store, id)?;
        reach("after the agents of a removed task are killed");
        // The gate lets no further effect begin. One that runs has the lock; the next round tries
        // again.
        let Some(lock) = Lock::to_perform(&stored.directory)? else {
            return Ok(());
        };
        self.kill_agents(store, id)?;
        // The trash gets the complete history.
        orange_store::project(store, id, clock::now())?;
        let workspaces = &self.driver.workspaces;
        let released = workspaces.release(store, &stored.task, None);
        released.map_err(|failure| not_removed(id, failure))?;
        reach("after the worktree of a removed task is released");
        if let Some(workspace) = store.workspace_of(id)?
            && matches!(
                workspace.state,
                WorkspaceState::Bound(_) | WorkspaceState::Reserved(_)
            )
        {
            store.free_workspace(&workspace)?;
        }
        let moved = orange_store::move_to_trash(store, id)?;
        reach("after the directory of a removed task is in the trash");
        store.discard_task(id, forget)?;
        drop(lock);
        let context = &self.driver.context;
        let more = json!({ "trash": moved, "epoch": epoch.map(|it| it.0) });
        context.log(LogLevel::Warn, id, "fleet.removed", more);
        Ok(())
    }

    /// Ends every run of a task, whatever the task is said to need.
    pub(super) fn kill_agents(&self, store: &mut Store, id: &TaskId) -> Result<(), DriverError> {
        let task = store.require(id)?.task;
        let mut runs: BTreeSet<RunId> = task.runs.values().map(|it| it.id.clone()).collect();
        runs.extend(store.runs(id)?.into_iter().map(|it| it.id));
        let kill = Kill {
            scope: KillScope::Session,
            runs: runs.into_iter().collect(),
        };
        let killed = self.driver.performer.kill(store, &task, &kill);
        killed.map(drop).map_err(|failure| not_removed(id, failure))
    }
}

fn not_removed(id: &TaskId, failure: Failure) -> DriverError {
    let (task, reason) = (id.clone(), failure.error);
    FleetError::NotRemoved { task, reason }.into()
}
