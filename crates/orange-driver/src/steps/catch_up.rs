//! Follows files that changed, many tasks by one connection.

use std::collections::BTreeMap;

use orange_engine::Workflow;
use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::steps::Steps;
use crate::steps::{Stepped, pinned};

/// A task that nobody could catch up with, and why.
pub type Behind = (TaskId, DriverError);

impl Steps {
    /// Follows what was written into TASK.md by hand, and says that the status has lasted for some
    /// time; whether for too long is decided.
    pub fn catch_up(&self, tasks: &[TaskId]) -> Result<Vec<Behind>, DriverError> {
        let mut store = self.context.store()?;
        let mut workflows = BTreeMap::new();
        let behind = tasks.iter().filter_map(|task| {
            let caught_up = self.catch_up_with(&mut store, task, &mut workflows);
            Some((task.clone(), caught_up.err()?))
        });
        Ok(behind.collect())
    }

    fn catch_up_with(
        &self,
        store: &mut Store,
        task: &TaskId,
        workflows: &mut BTreeMap<String, Workflow>,
    ) -> Result<(), DriverError> {
        self.sync_files(store, task)?;
        let stored = store.require(task)?;
        let workflow = match workflows.get(&stored.workflow_text) {
            Some(known) => known,
            None => workflows
                .entry(stored.workflow_text.clone())
                .or_insert(pinned(&stored)?),
        };
        let state = workflow.state(&stored.task.status);
        if state.is_none_or(|state| state.timeout.is_none()) {
            return Ok(());
        }
        let cause = Cause::Observation(Observation::TimedOut);
        match self.step(store, task, &cause) {
            Ok(Stepped::Recorded { .. }) => self.sync_files(store, task),
            // It is asked again, when whatever stood in the way is over.
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
