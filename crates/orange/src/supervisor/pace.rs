//! How fast agents are started after one another.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use crate::clock;

/// Gives each start an instant of its own.
#[derive(Debug)]
pub(super) struct Pace {
    between: Duration,
    free_from: Timestamp,
    /// Who waits for which instant.
    waiting: BTreeMap<TaskId, Timestamp>,
}

impl Pace {
    /// So many starts in a minute, and one at least.
    pub(super) fn new(per_minute: u32) -> Pace {
        let mut pace = Pace {
            between: Duration::ZERO,
            free_from: Timestamp::default(),
            waiting: BTreeMap::new(),
        };
        pace.set(per_minute);
        pace
    }

    /// Another pace, from the next start on.
    pub(super) fn set(&mut self, per_minute: u32) {
        self.between = Duration::from_mins(1) / per_minute.max(1);
    }

    /// Whether a task may start now; else when.
    pub(super) fn ask(&mut self, task: &TaskId) -> Result<(), Timestamp> {
        let now = clock::now();
        match self.waiting.get(task) {
            Some(at) if *at > now => return Err(*at),
            Some(_) => {
                self.waiting.remove(task);
                return Ok(());
            }
            None => {}
        }
        let at = self.free_from.max(now);
        let between = i64::try_from(self.between.as_millis()).unwrap_or(i64::MAX);
        self.free_from = Timestamp::from_millis(at.millis().saturating_add(between));
        if at <= now {
            return Ok(());
        }
        self.waiting.insert(task.clone(), at);
        Err(at)
    }

    /// Gives up the instant of a task that starts nobody any more.
    pub(super) fn forget(&mut self, task: &TaskId) {
        self.waiting.remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_spread_and_each_has_one_instant() {
        let mut pace = Pace::new(120);
        let tasks: Vec<TaskId> = (0..4).map(|it| TaskId::new(format!("t{it}"))).collect();
        assert_eq!(pace.ask(&tasks[0]), Ok(()));
        let later: Vec<i64> = tasks[1..]
            .iter()
            .map(|task| pace.ask(task).unwrap_err().millis())
            .collect();
        assert_eq!([later[1] - later[0], later[2] - later[1]], [500, 500]);
        let again = pace.ask(&tasks[3]).unwrap_err().millis();
        assert_eq!(again, later[2], "asking again changes nothing");
        pace.forget(&tasks[3]);
        let anew = pace.ask(&tasks[3]).unwrap_err().millis();
        assert_eq!(anew - later[2], 500);
    }
}
