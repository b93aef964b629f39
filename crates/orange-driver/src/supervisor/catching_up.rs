//! Who catches up with many tasks at once.

use std::sync::mpsc::Sender;

use orange_engine::names::TaskId;

use super::Wake;
use super::workers::Workers;
use crate::{Behind, Driver, DriverError};

/// How many tasks are caught up with by one connection to the database; opening it is most of what
/// one of them takes.
const AT_ONCE: usize = 64;

/// Follow what is written into TASK.md, and statuses that last too long.
pub(super) fn readers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("read", 1, AT_ONCE, move |tasks| {
        tell_behind(tasks, driver.steps.catch_up(tasks), &sender);
    })
}

/// Hear what agents tell.
pub(super) fn hearers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("hear", 1, AT_ONCE, move |tasks| {
        tell_behind(tasks, driver.agents.hear(tasks), &sender);
    })
}

/// Record starts that have happened: all that wait, by one look at the server.
pub(super) fn confirmers(driver: Driver, sender: Sender<Wake>) -> Result<Workers, String> {
    Workers::new("confirm", 1, usize::MAX, move |tasks| {
        // Where tmux cannot be asked now, the next look at it tells again.
        if let Ok(confirmed) = driver
            .with_person_variables()
            .performer
            .confirm_starts(tasks)
        {
            let _ended = sender.send(Wake::Confirmed(confirmed));
        }
    })
}

/// Tells of the tasks that nobody could catch up with; the next sweep tries again.
fn tell_behind(
    tasks: &[TaskId],
    caught_up: Result<Vec<Behind>, DriverError>,
    sender: &Sender<Wake>,
) {
    let behind = match caught_up {
        Ok(behind) => behind,
        // It is the same for all of them.
        Err(error) => {
            let first = tasks.first().cloned();
            first.map(|task| (task, error)).into_iter().collect()
        }
    };
    for (task, error) in behind {
        let _ended = sender.send(Wake::Failed(task, error));
    }
}
