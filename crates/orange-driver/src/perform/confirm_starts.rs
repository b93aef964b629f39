//! Records starts that already happened, with one tmux listing for many.
//!
//! A performer may die after it starts an agent and before it records the start. Without this
//! module, when a supervisor dies with a thousand starts in flight, a thousand performers would
//! each list a thousand panes.

use std::sync::Arc;

use orange_config::clock;
use orange_engine::effect::Effect;
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::context::lock::Lock;
use crate::due::{Next, next};
use crate::perform::Performer;

/// The result for a start that seemed to have happened.
#[derive(Debug)]
pub struct StartConfirmation {
    pub task: TaskId,
    /// Whether the start was recorded; otherwise a performer has to handle it.
    pub is_recorded: Result<bool, DriverError>,
}

impl Performer {
    /// Records the starts that the server's listing shows; starts nothing.
    pub fn confirm_starts(&self, tasks: &[TaskId]) -> Result<Vec<StartConfirmation>, DriverError> {
        let performer = Performer {
            listing: Some(Arc::new(self.context.tmux.list()?)),
            ..self.clone()
        };
        let mut store = self.context.store()?;
        let confirm = |task: &TaskId| StartConfirmation {
            task: task.clone(),
            is_recorded: performer.confirm_start(&mut store, task),
        };
        let mut confirmed: Vec<StartConfirmation> = tasks.iter().map(confirm).collect();
        // Write the task files only after all starts are recorded.
        for it in &mut confirmed {
            if matches!(it.is_recorded, Ok(true)) {
                let synced = self.steps.sync_files(&mut store, &it.task);
                it.is_recorded = synced.map(|()| true);
            }
        }
        Ok(confirmed)
    }

    fn confirm_start(&self, store: &mut Store, task: &TaskId) -> Result<bool, DriverError> {
        let stored = store.require(task)?;
        if stored.task.is_deleted {
            return Ok(false);
        }
        let Some(lock) = Lock::to_perform(&stored.directory)? else {
            return Ok(false);
        };
        // Taking the lock creates the directory again if the task was deleted in between.
        if store.require(task)?.task.is_deleted {
            lock.undo(&stored.directory);
            return Ok(false);
        }
        let Next::Now(pending) = next(store, task, clock::now())? else {
            return Ok(false);
        };
        let Effect::Spawn(spawn) = &pending.planned.effect else {
            return Ok(false);
        };
        let listing = self.listing.as_deref();
        if listing.is_none_or(|listing| listing.of_run(&spawn.run).is_none()) {
            return Ok(false);
        }
        self.perform_one(store, &pending)?;
        Ok(true)
    }
}
