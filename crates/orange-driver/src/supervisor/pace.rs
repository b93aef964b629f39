//! Limits how fast agents are started.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

/// Lets one start through per interval. Assigns no slots in advance: after a restart of the
/// supervisor, most waiting tasks turn out to have started already and need no slot.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    free_from: Timestamp,
    /// The waiting tasks, and their order of arrival.
    waiting: BTreeMap<TaskId, u64>,
    arrivals: u64,
}

impl Pace {
    /// Allows this many starts per minute, at least one.
    pub(super) fn new(per_minute: u32) -> Pace {
        let mut pace = Pace {
            interval: Duration::ZERO,
            free_from: Timestamp::default(),
            waiting: BTreeMap::new(),
            arrivals: 0,
        };
        pace.set(per_minute);
        pace
    }

    /// Changes the pace, from the next start on.
    pub(super) fn set(&mut self, per_minute: u32) {
        self.interval = Duration::from_mins(1) / per_minute.max(1);
    }

    /// Whether a task may start now; otherwise when to ask again.
    pub(super) fn ask(&mut self, task: &TaskId) -> Result<(), Timestamp> {
        let next = clock::after(self.interval);
        // The clock may have been set back.
        self.free_from = self.free_from.min(next);
        if self.free_from > clock::now() {
            if !self.waiting.contains_key(task) {
                self.arrivals += 1;
                self.waiting.insert(task.clone(), self.arrivals);
            }
            return Err(self.free_from);
        }
        self.free_from = next;
        self.waiting.remove(task);
        Ok(())
    }

    /// Sorts the tasks that have waited longest to the front.
    pub(super) fn sort_by_wait(&self, tasks: &mut [TaskId]) {
        let arrival = |task: &TaskId| self.waiting.get(task).copied().unwrap_or(u64::MAX);
        tasks.sort_by_key(arrival);
    }

    /// Forgets a task that has no start pending any more.
    pub(super) fn forget(&mut self, task: &TaskId) {
        self.waiting.remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<TaskId> {
        ["a", "b", "c"].map(TaskId::new).to_vec()
    }

    #[test]
    fn one_task_starts_and_the_others_retry() {
        let mut pace = Pace::new(120);
        let tasks = tasks();
        assert_eq!(pace.ask(&tasks[0]), Ok(()));
        let later = pace.ask(&tasks[1]).unwrap_err();
        assert!(later > clock::now(), "it waits");
        assert!(later <= clock::after(Duration::from_millis(500)));
        assert_eq!(pace.ask(&tasks[2]), Err(later), "for the same instant");
        assert_eq!(pace.ask(&tasks[1]), Err(later), "however often it asks");
        pace.forget(&tasks[1]);
        assert_eq!(pace.ask(&tasks[2]), Err(later), "no slot is skipped");
    }

    #[test]
    fn the_longest_waiting_task_is_first() {
        let mut pace = Pace::new(1);
        let all = tasks();
        assert_eq!(pace.ask(&all[0]), Ok(()));
        for late in [&all[2], &all[1], &all[2]] {
            assert!(pace.ask(late).is_err());
        }
        let mut due = all.clone();
        pace.sort_by_wait(&mut due);
        assert_eq!(due, [all[2].clone(), all[1].clone(), all[0].clone()]);
    }

    #[test]
    fn a_clock_set_back_delays_no_task() {
        let mut pace = Pace::new(600);
        pace.free_from = clock::after(Duration::from_hours(1));
        let later = pace.ask(&tasks()[0]).unwrap_err();
        assert!(later <= clock::after(Duration::from_millis(100)));
    }
}
