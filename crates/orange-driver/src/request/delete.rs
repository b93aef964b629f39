//! Deletes a task; the deletion can be undone.

use std::path::PathBuf;

use orange_engine::Refusal;
use orange_engine::input::{Ask, Cause, Request};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::request::Requests;
use crate::steps::Stepped;

/// The result of deleting or restoring a task.
#[derive(Debug)]
pub enum PutAway {
    /// It is deleted, or restored; its directory is kept.
    Done {
        /// Where its directory is now, if it had one.
        directory: Option<PathBuf>,
        /// Whether that had already happened.
        already: bool,
    },
    /// It did not happen.
    Refused(Box<Refusal>),
}

impl Requests {
    /// Deletes a finished task: records that first, then moves its directory to the trash. If the
    /// process is killed in between, deleting again finishes it.
    pub fn delete(&self, task: &TaskId) -> Result<PutAway, DriverError> {
        let mut store = self.context.store()?;
        let stepped = self.ask_plainly(&mut store, task, Ask::Delete)?;
        let already = match stepped {
            Stepped::Refused(refusal) => return Ok(PutAway::Refused(refusal)),
            Stepped::Nothing { .. } => true,
            Stepped::Recorded { .. } => false,
        };
        let stored = store.require(task)?;
        if stored.directory.exists() {
            // The copies record the deletion too, so that they are complete wherever they are.
            self.steps.sync_files(&mut store, task)?;
        }
        let directory = orange_store::put_away(&store, task)?;
        Ok(PutAway::Done { directory, already })
    }

    /// Restores a deleted task: its directory first, so that no new one is created in its place.
    pub fn undelete(&self, task: &TaskId) -> Result<PutAway, DriverError> {
        let mut store = self.context.store()?;
        if store.require(task)?.task.is_deleted {
            orange_store::take_back(&store, task)?;
        }
        let already = match self.ask_plainly(&mut store, task, Ask::BringBack)? {
            Stepped::Refused(refusal) => return Ok(PutAway::Refused(refusal)),
            Stepped::Nothing { .. } => true,
            Stepped::Recorded { .. } => false,
        };
        self.steps.sync_files(&mut store, task)?;
        let directory = Some(store.require(task)?.directory);
        Ok(PutAway::Done { directory, already })
    }

    fn ask_plainly(
        &self,
        store: &mut Store,
        task: &TaskId,
        ask: Ask,
    ) -> Result<Stepped, DriverError> {
        let request = Request::new(self.callers.identify_for_in(store, task)?.role, ask);
        self.steps.step(store, task, &Cause::Request(request))
    }
}
