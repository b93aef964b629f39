//! Timers by task: when effects are due, when statuses time out.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

/// The longest sleep; it is limited because the clock may be changed meanwhile.
const LONGEST: Duration = Duration::from_mins(1);

/// The earliest time that was set for each task.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: BTreeMap<TaskId, Timestamp>,
}

impl Timers {
    /// Sets the time of a task, unless an earlier one is set.
    pub(super) fn set(&mut self, task: &TaskId, at: Timestamp) {
        let known = self.at.entry(task.clone()).or_insert(at);
        *known = at.min(*known);
    }

    /// Forgets the time of a task.
    pub(super) fn clear(&mut self, task: &TaskId) {
        self.at.remove(task);
    }

    /// How long until the next task is due, up to a limit.
    pub(super) fn time_to_next(&self) -> Duration {
        time_left(self.at.values().min().copied())
    }

    /// The tasks whose time has come; their times are forgotten.
    pub(super) fn due(&mut self) -> Vec<TaskId> {
        let now = clock::now();
        let due = self.at.extract_if(.., |_, at| *at <= now);
        due.map(|(task, _)| task).collect()
    }
}

/// The time left until an instant, if there is one, up to a limit.
pub(super) fn time_left(at: Option<Timestamp>) -> Duration {
    let now = clock::now().millis();
    let left = at.map(|at| at.millis().saturating_sub(now).max(0));
    let left = left.and_then(|millis| u64::try_from(millis).ok());
    left.map_or(LONGEST, |millis| Duration::from_millis(millis).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_fires_once() {
        let mut timers = Timers::default();
        let (task, other) = (TaskId::new("a"), TaskId::new("b"));
        assert_eq!(timers.time_to_next(), LONGEST);
        timers.set(&task, Timestamp::default());
        timers.set(&task, clock::after(Duration::from_hours(1)));
        timers.set(&other, clock::after(Duration::from_secs(30)));
        assert_eq!(timers.time_to_next(), Duration::ZERO);
        assert_eq!(timers.due(), [task]);
        assert!(timers.time_to_next() > Duration::from_secs(20));
        timers.clear(&other);
        assert_eq!(timers.time_to_next(), LONGEST);
    }
}
