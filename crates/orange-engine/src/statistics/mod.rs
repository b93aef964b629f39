//! Figures about all tasks within a period: throughput, times, failures, cost.
//!
//! [`summarize`] is a pure fold over what was recorded within the window. A task that began before
//! it comes with the status that it was in, so a stay that ends within the window has its whole
//! length. A clock that was set back makes no length negative.

mod costs;
mod failures;
mod reviews;
mod stays;
mod throughput;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Workflow;
use crate::budget::Money;
use crate::effect::{Effect, EffectId};
use crate::event::{Event, Fact};
use crate::names::{HarnessName, ProjectName, RunId, Status, TaskId};
use crate::time::Timestamp;

pub use costs::{CostLine, Costs, NamedCost, TaskCost};
pub use failures::{Cause, FailureCount};
pub use reviews::{BackCount, Reviews};
pub use stays::StatusTime;
pub use throughput::{Counts, Period, Throughput};

/// The time that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Window {
    /// Its start.
    pub since: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

/// A task to which something happened within the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    pub task: TaskId,
    pub project: ProjectName,
    pub summary: String,
    pub is_deleted: bool,
    /// `None` if it cannot be read.
    pub workflow: Option<Arc<Workflow>>,
    /// The status before the first of the events; `None` if that one created the task.
    pub before: Option<StatusEntry>,
    /// The events of the window that [`is_counted`], in the order of their versions.
    pub events: Vec<Event>,
    /// The effects that failed in these events.
    pub failed_effects: BTreeMap<EffectId, Effect>,
}

/// A status, and when it was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusEntry {
    pub status: Status,
    pub at: Timestamp,
}

/// What a run used on one day of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendRecord {
    pub task: TaskId,
    pub run: RunId,
    pub harness: HarnessName,
    /// The model that the task sets.
    pub model: Option<String>,
    /// `None` if unknown, as is `money`.
    pub tokens: Option<u64>,
    pub money: Option<Money>,
}

/// Everything that is known about a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The tasks, each of them once.
    pub tasks: Vec<TaskRecord>,
    pub spend: Vec<SpendRecord>,
}

/// The figures of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Statistics {
    #[serde(flatten)]
    pub window: Window,
    /// How many tasks were created and ended.
    pub throughput: Throughput,
    /// How long tasks were in each status, in the order of the workflows.
    pub statuses: Vec<StatusTime>,
    /// How often reviews sent tasks back.
    pub reviews: Reviews,
    /// What went wrong, the most frequent cause first.
    pub failures: Vec<FailureCount>,
    /// What agents used.
    pub costs: Costs,
}

/// The types of the events that [`summarize`] reads.
pub const COUNTED_TYPES: [&str; 9] = [
    "task.created",
    "status.changed",
    "run.ended",
    "error.recorded",
    "agent.crashed",
    "effect.failed",
    "edit.rejected",
    "report.received",
    "pull_request.reaction",
];

/// Whether [`summarize`] reads such an event.
pub fn is_counted(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskCreated(_)
            | Fact::StatusChanged(_)
            | Fact::RunEnded { .. }
            | Fact::AgentCrashed { .. }
            | Fact::ErrorRecorded { .. }
            | Fact::EffectFailed { .. }
            | Fact::EditRejected { .. }
            | Fact::ReportReceived { .. }
            | Fact::PullRequestReaction { .. }
    )
}

/// Computes the figures of a window.
pub fn summarize(window: Window, records: &Records) -> Statistics {
    Statistics {
        window,
        throughput: throughput::count(window, &records.tasks),
        statuses: stays::measure(&records.tasks),
        reviews: reviews::count(&records.tasks),
        failures: failures::count(&records.tasks),
        costs: costs::add_up(records),
    }
}

#[cfg(test)]
mod tests;
