//! What a server must know of a task to place it.
//!
//! The machine that holds a task sends a summary with each of its commits, and a server that knows
//! no workflow decides by it which machine may take the task. A summary follows from the task and
//! its pinned workflow alone, so a replay of the events can check it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::language::Workflow;
use crate::names::{BranchName, HarnessName, Status, TaskId, WorkflowName};
use crate::schedule::{SchedulePlace, ScheduledTask, Starter};
use crate::task::{Task, Workspace};
use crate::time::Timestamp;

/// A task in the words of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The version it was made from.
    pub version: u64,
    /// The event format that an engine must know to continue the task.
    pub format: u32,
    pub workflow: WorkflowName,
    pub status: Status,
    pub place: Place,
    /// Whether it is in a queue that tasks return to; such a task goes before one that begins.
    pub returns: bool,
    /// Higher goes first.
    pub priority: i64,
    /// When it entered its status.
    pub since: Timestamp,
    /// When it can start again or its status times out, whichever comes first.
    pub wake_at: Option<Timestamp>,
    pub branch: BranchName,
    /// The harness that does the work.
    pub harness: HarnessName,
    /// The harness that reviews the work.
    pub review_harness: HarnessName,
    pub parent: Option<TaskId>,
    /// The tasks that must be done first.
    pub after: BTreeSet<TaskId>,
    pub ended: bool,
    /// Whether it ended without its work being accepted.
    pub cancelled: bool,
    /// How many agents it has, by harness; they count against limits.
    pub agents: BTreeMap<HarnessName, u32>,
}

/// Where a task may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On the machine that holds it: there is an agent, a workspace or an effect to perform.
    Held,
    /// Nowhere, until a machine has room to start it.
    Queued,
    /// Nowhere, until a request or an observation continues it.
    Idle,
    /// Nowhere any more.
    Ended,
}

impl Summary {
    pub fn of(workflow: &Workflow, task: &Task) -> Summary {
        let scheduled = ScheduledTask::of(workflow, task);
        let (ended, cancelled) = match scheduled.place {
            SchedulePlace::Ended { cancelled } => (true, cancelled),
            SchedulePlace::Queued(_) | SchedulePlace::Active => (false, false),
        };
        let queued = match &scheduled.place {
            SchedulePlace::Queued(queued) => Some(queued),
            SchedulePlace::Active | SchedulePlace::Ended { .. } => None,
        };
        let starts = queued.filter(|queued| queued.starter == Starter::Engine);
        let place = if needs_machine(task) {
            Place::Held
        } else if ended {
            Place::Ended
        } else if starts.is_some() {
            Place::Queued
        } else {
            Place::Idle
        };
        let restart = starts.and_then(|queued| queued.not_before);
        let timeout = timeout(workflow, task);
        Summary {
            version: task.version,
            format: task.format,
            workflow: task.workflow.clone(),
            place,
            returns: queued.is_some_and(|queued| queued.is_requeued),
            priority: scheduled.priority,
            since: scheduled.since,
            wake_at: restart.into_iter().chain(timeout).min(),
            branch: task.branch.clone(),
            harness: scheduled.harness,
            review_harness: task.review_harness.clone(),
            parent: scheduled.parent,
            after: scheduled.after,
            ended,
            cancelled,
            agents: scheduled.agents,
            status: scheduled.status,
        }
    }
}

/// Whether something of the task is on the machine that holds it. An effect that failed counts,
/// because it is retried where it failed.
fn needs_machine(task: &Task) -> bool {
    let mut runs = task.runs.values();
    task.workspace != Workspace::None
        || !task.pending.is_empty()
        || runs.any(|run| !run.state.has_ended())
}

/// When the status times out.
fn timeout(workflow: &Workflow, task: &Task) -> Option<Timestamp> {
    let timeout = workflow.state(&task.status)?.timeout.as_ref()?;
    let millis = i64::try_from(timeout.after.saturating_mul(1000)).unwrap_or(i64::MAX);
    let at = task.entered.at.millis().saturating_add(millis);
    Some(Timestamp::from_millis(at))
}
