//! Workers that catch up with many tasks at once.

use std::sync::mpsc::Sender;

use orange_engine::names::TaskId;

use super::Wake;
use super::workers::Workers;
use crate::{CatchUpError, Driver, DriverError};

/// How many tasks share one connection to the database; opening it is most of the cost of a task.
const BATCH_SIZE: usize = 64;

/// Workers that react to edits of TASK.md and to status timeouts.
pub(super) fn start_readers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("read", 1, BATCH_SIZE, move |tasks| {
        report_failures(tasks, driver.steps.catch_up(tasks), &sender);
    })
}

/// Workers that process agent events.
pub(super) fn start_event_workers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("events", 1, BATCH_SIZE, move |tasks| {
        report_failures(tasks, driver.agents.process_events(tasks), &sender);
    })
}

/// Workers that record starts that have happened: all waiting ones, with one tmux listing.
pub(super) fn start_confirmers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("confirm", 1, usize::MAX, move |tasks| {
        // If tmux cannot answer now, its next listing shows these starts again.
        if let Ok(confirmed) = driver.with_user_variables().performer.confirm_starts(tasks) {
            let _ended = sender.send(Wake::Confirmed(confirmed));
        }
    })
}

/// Reports the tasks that could not be brought up to date; the next sweep tries again.
fn report_failures(
    tasks: &[TaskId],
    result: Result<Vec<CatchUpError>, DriverError>,
    sender: &Sender<Wake>,
) {
    let failures = match result {
        Ok(failures) => failures,
        // The error is the same for all tasks, so report it once.
        Err(error) => {
            let first = tasks.first().cloned();
            first.map(|task| (task, error)).into_iter().collect()
        }
    };
    for (task, error) in failures {
        let _ended = sender.send(Wake::Failed(task, error));
    }
}
