//! Posts the status of changed tasks to their issues.
//!
//! The first change of a task is posted at once. Further changes are posted together, after the
//! polling interval. While no task changes, nothing is requested or written.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::StoreError;

use crate::{Driver, DriverError};

/// The posts that are due, and when.
pub(super) struct Poster {
    driver: Driver,
    /// The last commit that was read.
    sequence: u64,
    due: BTreeMap<TaskId, Timestamp>,
    /// The earliest time for the next post about a task.
    pauses: BTreeMap<TaskId, Timestamp>,
}

impl Poster {
    pub(super) fn new(driver: Driver) -> Poster {
        Poster {
            driver,
            sequence: 0,
            due: BTreeMap::new(),
            pauses: BTreeMap::new(),
        }
    }

    /// Posts what is due; reports the last failure.
    pub(super) fn round(&mut self) -> Result<(), String> {
        self.find_changed().map_err(|error| error.to_string())?;
        let now = clock::now();
        let due = self.due.iter().filter(|(_, at)| **at <= now);
        let due: Vec<TaskId> = due.map(|(id, _)| id.clone()).collect();
        let mut result = Ok(());
        for id in due {
            self.due.remove(&id);
            if let Err(error) = self.post(&id) {
                result = Err(error);
            }
        }
        result
    }

    /// Notes the tasks that changed since the last round.
    fn find_changed(&mut self) -> Result<(), DriverError> {
        let store = match self.driver.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(()),
            store => store?,
        };
        if store.sequence()? == self.sequence {
            return Ok(());
        }
        let (sequence, changed) = store.changed_since(self.sequence)?;
        let now = clock::now();
        self.pauses.retain(|_, until| *until > now);
        for id in changed {
            let task = store.load(&id)?.map(|it| it.task);
            if task.is_some_and(|it| it.issue.is_some() && !it.is_deleted) {
                let at = self.pauses.get(&id).copied().unwrap_or(now);
                self.due.insert(id, at);
            }
        }
        self.sequence = sequence;
        Ok(())
    }

    fn post(&mut self, id: &TaskId) -> Result<(), String> {
        let poll = self.driver.context.settings(None);
        let poll = poll.map_err(|error| error.to_string())?.forge.poll;
        let posted = match self.driver.requests.post_status(id, false) {
            Ok(posted) => posted,
            Err(error) => {
                self.due.insert(id.clone(), clock::after(poll));
                return Err(error.to_string());
            }
        };
        let Some(report) = posted else {
            return Ok(());
        };
        if !report.changes.is_empty() {
            self.pauses.insert(id.clone(), clock::after(poll));
        }
        if let Some(at) = report.retry_at {
            self.due.insert(id.clone(), at);
        }
        match report.problems.first() {
            Some(problem) => Err(format!("issue #{}: {problem}", report.issue)),
            None => Ok(()),
        }
    }
}
