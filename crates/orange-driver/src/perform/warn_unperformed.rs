//! Finds tasks with due effects that no process performs.

use std::collections::BTreeSet;
use std::time::Duration;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::{Store, TaskRow};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::due::{Next, next};
use crate::perform::Performer;

/// How long a performer may take to start before its effects count as left behind.
const START_TIMEOUT: Duration = Duration::from_secs(3);

impl Performer {
    /// Whether effects of a task are due and no process performs them: the process that planned or
    /// performed them was killed, and no supervisor runs.
    pub(crate) fn is_unperformed(&self, store: &Store, task: &TaskId) -> Result<bool, DriverError> {
        Ok(!self.context.is_supervised() && is_left_behind(store, task, clock::now())?)
    }

    /// The tasks for which `is_unperformed` holds.
    pub(crate) fn unperformed_tasks(&self, store: &Store) -> Result<BTreeSet<TaskId>, DriverError> {
        let now = clock::now();
        let due = store.due_effects(now)?;
        let mut tasks: BTreeSet<TaskId> = due.into_iter().map(|pending| pending.task).collect();
        if tasks.is_empty() || self.context.is_supervised() {
            return Ok(BTreeSet::new());
        }
        let mut failure = None;
        tasks.retain(|task| {
            let result = is_left_behind(store, task, now);
            result.unwrap_or_else(|error| {
                failure = Some(error);
                false
            })
        });
        failure.map_or(Ok(tasks), Err)
    }
}

/// Adds a warning for the user to the rows of unperformed tasks.
pub(crate) fn add_warnings(rows: &mut [TaskRow], unperformed: &BTreeSet<TaskId>) {
    for row in rows {
        if unperformed.contains(&row.id) {
            row.attention.push(unperformed_warning(&row.id));
        }
    }
}

fn unperformed_warning(task: &TaskId) -> String {
    format!("no process is performing its effects; run `orange task retry {task}`")
}

fn is_left_behind(store: &Store, task: &TaskId, now: Timestamp) -> Result<bool, DriverError> {
    let timeout = i64::try_from(START_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    let then = Timestamp::from_millis(now.millis().saturating_sub(timeout));
    if !matches!(next(store, task, then)?, Next::Now(_)) {
        return Ok(false);
    }
    // A process that has just planned or retried something is about to start a performer.
    let last = store.last_event_at(task)?;
    let is_quiet = last.is_some_and(|last| last <= then);
    Ok(is_quiet && !Lock::is_performing(&store.require(task)?.directory))
}
