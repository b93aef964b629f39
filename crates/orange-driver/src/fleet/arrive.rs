//! Continues a task that was taken over.

use orange_config::LogLevel;
use orange_engine::input::{Cause, Observation};
use orange_engine::summary::{Place, Summary};
use orange_store::steps::reach;
use orange_store::{Arrival, Store, StoreError};
use serde_json::json;

use super::Runner;
use crate::DriverError;
use crate::steps::pinned_workflow;

impl Runner {
    /// Lets the tasks continue here that were taken over. Each part can be repeated.
    pub(super) fn continue_arrivals(&self, store: &mut Store) -> Result<(), DriverError> {
        for arrival in store.arrivals()? {
            let continued = self.continue_here(store, &arrival);
            // One task must not keep the others waiting; the next round tries it again.
            if let Err(error) = continued {
                let context = &self.driver.context;
                let more = json!({ "error": error.to_string() });
                context.log(LogLevel::Warn, &arrival.task, "fleet.not_continued", more);
            }
        }
        Ok(())
    }

    fn continue_here(&self, store: &mut Store, arrival: &Arrival) -> Result<(), DriverError> {
        let id = &arrival.task;
        let driver = &self.driver;
        let Some(stored) = store.load(id)? else {
            return Ok(());
        };
        let mut notice = None;
        // Before anything reads or writes TASK.md: what the agent had written and not submitted.
        if let Some(wip) = &arrival.wip {
            store.place_document(id, &wip.document)?;
            notice = self.unpack(&stored.task, wip)?;
        }
        reach("before the move of a task is recorded");
        let workflow = pinned_workflow(&stored)?;
        let is_on_machine = Summary::of(&workflow, &stored.task).place == Place::Held;
        if is_on_machine && !arrival.is_moved {
            let cause = Cause::Observation(Observation::Moved);
            match driver.steps.step(store, id, &cause) {
                // Another machine has it by now; its copy here is removed.
                Err(DriverError::Store(StoreError::NotHeld { .. })) => return Ok(()),
                result => result.map(drop)?,
            }
        }
        reach("after the move of a task is recorded");
        if let Some(notice) = notice {
            driver.steps.notice(store, id, notice)?;
        }
        store.finish_arrival(id)?;
        driver.steps.sync_files(store, id)?;
        driver.context.leave_to_performer(store, id)
    }
}
