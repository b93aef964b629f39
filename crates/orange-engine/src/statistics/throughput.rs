//! How many tasks were created, done and cancelled, by day.

use schemars::JsonSchema;
use serde::Serialize;

use super::{TaskRecord, Window};
use crate::Workflow;
use crate::budget::utc_day;
use crate::event::{Fact, StatusChange};
use crate::language::workflow::Trigger;
use crate::time::Timestamp;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The longest windows, in days, that are shown by day and by week.
const LONGEST_BY_DAY: i64 = 31;
const LONGEST_BY_WEEK: i64 = 366;

/// How many tasks were created and ended within a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// How many tasks were created.
    pub created: u64,
    /// How many tasks ended and were not cancelled. A task that was reopened does not count, unless
    /// it ended again.
    pub done: u64,
    /// How many of them ended because their branch or pull request was merged.
    pub merged: u64,
    /// How many tasks were cancelled.
    pub cancelled: u64,
}

impl Counts {
    fn add(&mut self, more: Counts) {
        self.created += more.created;
        self.done += more.done;
        self.merged += more.merged;
        self.cancelled += more.cancelled;
    }
}

/// One or more UTC days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Period {
    /// Its first UTC day, such as `2026-11-18`.
    pub from: String,
    #[serde(flatten)]
    pub counts: Counts,
}

/// The throughput of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Throughput {
    #[serde(flatten)]
    pub total: Counts,
    /// How many UTC days each period has: 1, 7 or 30.
    pub days_per_period: i64,
    /// The periods of the window, in order, including those in which nothing happened.
    pub periods: Vec<Period>,
}

pub(super) fn count(window: Window, tasks: &[TaskRecord]) -> Throughput {
    let first = day(window.since);
    let days = (day(window.until) - first).max(0) + 1;
    let days_per_period = if days <= LONGEST_BY_DAY {
        1
    } else if days <= LONGEST_BY_WEEK {
        7
    } else {
        30
    };
    let starts = (0..days).step_by(usize::try_from(days_per_period).unwrap_or(1));
    let mut periods: Vec<Period> = starts
        .map(|day| Period {
            from: utc_day(Timestamp::from_millis((first + day) * MILLIS_PER_DAY)),
            counts: Counts::default(),
        })
        .collect();
    let mut total = Counts::default();
    let last = periods.len().saturating_sub(1);
    for (at, counts) in tasks.iter().flat_map(count_task) {
        total.add(counts);
        // A clock that was ahead can have recorded a time after the window.
        let index = (day(at) - first).max(0) / days_per_period;
        let index = usize::try_from(index).unwrap_or(last).min(last);
        if let Some(period) = periods.get_mut(index) {
            period.counts.add(counts);
        }
    }
    Throughput {
        total,
        days_per_period,
        periods,
    }
}

fn day(at: Timestamp) -> i64 {
    at.millis().div_euclid(MILLIS_PER_DAY)
}

/// When the task was created and how it ended last, if that was within the window and it still is
/// ended.
fn count_task(record: &TaskRecord) -> Vec<(Timestamp, Counts)> {
    let mut created = None;
    let mut end = None;
    for event in &record.events {
        match &event.fact {
            Fact::TaskCreated(_) => {
                let counts = Counts {
                    created: 1,
                    ..Counts::default()
                };
                created = Some((event.at, counts));
            }
            Fact::StatusChanged(change) => {
                let workflow = record.workflow.as_deref();
                let counts = workflow.and_then(|workflow| count_end(workflow, change));
                end = counts.map(|counts| (event.at, counts));
            }
            _ => {}
        }
    }
    created.into_iter().chain(end).collect()
}

fn count_end(workflow: &Workflow, change: &StatusChange) -> Option<Counts> {
    if !workflow.is_terminal(&change.to) {
        return None;
    }
    if workflow.is_cancelled(&change.to) {
        return Some(Counts {
            cancelled: 1,
            ..Counts::default()
        });
    }
    let is_merge = matches!(change.trigger, Trigger::Merged | Trigger::PrMerged);
    Some(Counts {
        done: 1,
        merged: u64::from(is_merge),
        ..Counts::default()
    })
}
