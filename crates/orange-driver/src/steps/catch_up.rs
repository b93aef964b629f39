//! Follows edits of TASK.md and status timeouts, for many tasks at once.

use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::steps::Steps;
use crate::steps::{StepResult, pinned_workflow};

/// A task that could not be brought up to date, and the error.
pub type CatchUpError = (TaskId, DriverError);

impl Steps {
    /// Follows manual edits of TASK.md. Then lets the engine decide whether the status has lasted
    /// too long.
    pub fn catch_up(&self, tasks: &[TaskId]) -> Result<Vec<CatchUpError>, DriverError> {
        let mut store = self.context.store()?;
        let failures = tasks.iter().filter_map(|task| {
            let result = self.catch_up_with(&mut store, task);
            Some((task.clone(), result.err()?))
        });
        Ok(failures.collect())
    }

    fn catch_up_with(&self, store: &mut Store, task: &TaskId) -> Result<(), DriverError> {
        self.sync_files(store, task)?;
        let stored = store.require(task)?;
        let workflow = pinned_workflow(&stored)?;
        let state = workflow.state(&stored.task.status);
        if state.is_none_or(|state| state.timeout.is_none()) {
            return Ok(());
        }
        let cause = Cause::Observation(Observation::TimedOut);
        match self.step(store, task, &cause) {
            Ok(StepResult::Recorded { .. }) => self.sync_files(store, task),
            // The next call tries again, once the obstacle is gone.
            Ok(_)
            | Err(
                DriverError::DocumentUnknown { .. }
                | DriverError::FactUnknown { .. }
                | DriverError::GateRunning { .. },
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
