//! Deletes a task so that it can be brought back.

use std::path::PathBuf;

use orange_engine::Refusal;
use orange_engine::input::{Ask, Cause, Request};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::request::Requests;
use crate::steps::Stepped;

/// What came of deleting.
#[derive(Debug)]
pub enum PutAway {
    /// It is out of sight; its directory is there.
    Done {
        /// Where its directory is, if it had one.
        directory: Option<PathBuf>,
        /// Whether it had been deleted before.
        already: bool,
    },
    /// It did not happen.
    Refused(Box<Refusal>),
}

impl Requests {
    /// Puts an ended task away: it is recorded, then its directory goes into the trash. Whoever is
    /// killed in between finishes it by asking again.
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
            // The copies know of it too, so that they are whole wherever they are.
            self.steps.sync_files(&mut store, task)?;
        }
        let directory = orange_store::put_away(&store, task)?;
        Ok(PutAway::Done { directory, already })
    }

    /// Brings a deleted task back: first its directory, so that nothing is made anew in its place.
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
