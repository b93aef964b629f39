//! Which task starts next, and what the others wait for.
//!
//! The functions are pure, like the whole engine: they take the tasks, the limits and the time, and
//! return an order. The order of the input does not matter. Limits only hold back starts; they
//! never stop a task that is already running.

mod cycle;
mod scheduled_task;
mod tally;
mod wait;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::failover::stand_in;
use crate::names::{HarnessName, ProjectName, Status, TaskId};
use crate::parking::Parking;
use crate::time::Timestamp;
use tally::Tally;

pub use cycle::find_cycle;
pub use scheduled_task::{QueueEntry, SchedulePlace, ScheduledTask, Starter};
pub use wait::Wait;

/// What holds back starts: how many agents or tasks there may be at once (no limit where absent),
/// and reasons to start nothing at all: parked harnesses, a full disk and a used-up budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Agents across all projects.
    pub agents: Option<u32>,
    /// Agents of one project.
    pub per_project: Option<u32>,
    /// Agents of a harness.
    pub harness: BTreeMap<HarnessName, u32>,
    /// Tasks in a status.
    pub status: BTreeMap<Status, u32>,
    /// Tasks of a project that have a workspace.
    pub pools: BTreeMap<ProjectName, u32>,
    /// Harnesses on which nothing is started now.
    pub parked: Vec<Parking>,
    /// The harnesses that take over from a parked one, in order; those that are not installed are
    /// left out.
    pub failover: Vec<HarnessName>,
    /// Set if the worktrees' disk has too little space for another start.
    pub full_disk: Option<FullDisk>,
    /// Limits in tokens and money, and what was used of them.
    pub budget: Budget,
}

impl Limits {
    /// The harness that a start of this task uses: its own, or the one that takes over from it.
    fn used_harness<'a>(&'a self, task: &'a ScheduledTask) -> &'a HarnessName {
        let parking = self.parked.iter().find(|it| it.harness == task.harness);
        let stand_in = parking.and_then(|it| stand_in(it, &self.failover, &self.parked));
        stand_in.unwrap_or(&task.harness)
    }
}

/// A disk with less free space than a start needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullDisk {
    pub free: u64,
    pub needed: u64,
}

/// The schedule of all queued tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The tasks to start now, in this order.
    pub starts: Vec<TaskId>,
    /// What each of the other queued tasks waits for.
    pub waits: BTreeMap<TaskId, Vec<Wait>>,
}

/// Decides which queued tasks start now.
///
/// A queue that tasks return to goes before one in which they begin, so started work is finished
/// first. Then the higher priority goes first, then the task that has waited longest, then the id.
pub fn schedule(all: &[ScheduledTask], limits: &Limits, now: Timestamp) -> Schedule {
    let by_id: BTreeMap<&TaskId, &ScheduledTask> = all.iter().map(|it| (&it.task, it)).collect();
    let running = Tally::of(by_id.values().copied(), limits);
    let mut tally = Tally::of(by_id.values().copied(), limits);
    let mut found = Schedule::default();
    for (scheduled, queued) in in_order(by_id.values().copied()) {
        let mut waits = own_waits(scheduled, queued, now);
        waits.extend(open_dependencies(scheduled, &by_id));
        // If a task cannot start anyway, limits are not checked for it, and it takes no room from
        // others.
        if waits.is_empty() {
            waits = running.reached_limits(scheduled);
        }
        // Tasks that start before this one are named only if the running tasks leave room.
        if waits.is_empty() {
            waits = tally.reached_limits(scheduled);
        }
        if waits.is_empty() {
            tally.start(scheduled, queued);
            found.starts.push(scheduled.task.clone());
        } else {
            found.waits.insert(scheduled.task.clone(), waits);
        }
    }
    found
}

/// What a queued task waits for apart from limits: a request to start it, effects, a pause, or its
/// dependencies. Empty for a task that is in no queue. `others` must contain its dependencies.
pub fn waits_before_limits(
    task: &ScheduledTask,
    others: &[ScheduledTask],
    now: Timestamp,
) -> Vec<Wait> {
    let SchedulePlace::Queued(queued) = &task.place else {
        return Vec::new();
    };
    let by_id: BTreeMap<&TaskId, &ScheduledTask> = others.iter().map(|it| (&it.task, it)).collect();
    let mut waits = own_waits(task, queued, now);
    waits.extend(open_dependencies(task, &by_id));
    waits
}

/// The limits that leave no room for this task now, whatever the order of the queue. Of `holders`,
/// only tasks count that are active or have a workspace or an agent.
pub fn reached_limits(
    task: &ScheduledTask,
    holders: &[ScheduledTask],
    limits: &Limits,
) -> Vec<Wait> {
    let by_id: BTreeMap<&TaskId, &ScheduledTask> =
        holders.iter().map(|it| (&it.task, it)).collect();
    Tally::of(by_id.values().copied(), limits).reached_limits(task)
}

/// What holds back a start of this task, no matter which role asks: its dependencies and the
/// limits.
pub fn find_waits(task: &ScheduledTask, all: &[ScheduledTask], limits: &Limits) -> Vec<Wait> {
    let by_id: BTreeMap<&TaskId, &ScheduledTask> = all.iter().map(|it| (&it.task, it)).collect();
    let mut waits = open_dependencies(task, &by_id);
    let others = by_id.values().copied();
    let others = others.filter(|it| it.task != task.task);
    waits.extend(Tally::of(others, limits).reached_limits(task));
    waits
}

fn in_order<'a>(
    all: impl Iterator<Item = &'a ScheduledTask>,
) -> Vec<(&'a ScheduledTask, &'a QueueEntry)> {
    let queued = all.filter_map(|it| match &it.place {
        SchedulePlace::Queued(queued) => Some((it, queued)),
        _ => None,
    });
    let mut queued: Vec<(&ScheduledTask, &QueueEntry)> = queued.collect();
    queued.sort_by_key(|(it, queued)| order(it, queued));
    queued
}

fn order<'a>(task: &'a ScheduledTask, queued: &QueueEntry) -> impl Ord + use<'a> {
    let is_first_queue = !queued.is_requeued;
    let priority = Reverse(task.priority);
    (is_first_queue, priority, task.since, &task.task)
}

/// Whether a queued task goes before another one.
pub fn goes_before(task: &ScheduledTask, other: &ScheduledTask) -> bool {
    match (&task.place, &other.place) {
        (SchedulePlace::Queued(one), SchedulePlace::Queued(two)) => {
            order(task, one) < order(other, two)
        }
        _ => false,
    }
}

fn own_waits(scheduled: &ScheduledTask, queued: &QueueEntry, now: Timestamp) -> Vec<Wait> {
    match queued.starter {
        Starter::Engine => {}
        Starter::User => return vec![Wait::User],
        Starter::NotRequested => return vec![Wait::NotRequested],
        Starter::Split => {
            let task = scheduled.task.clone();
            return vec![Wait::Split { task }];
        }
    }
    if queued.has_running_effects {
        return vec![Wait::EffectsRunning];
    }
    match queued.not_before.filter(|then| *then > now) {
        Some(until) => vec![Wait::Pause { until }],
        None => Vec::new(),
    }
}

fn open_dependencies(task: &ScheduledTask, by_id: &BTreeMap<&TaskId, &ScheduledTask>) -> Vec<Wait> {
    let waits = task.after.iter().filter_map(|after| {
        let Some(scheduled) = by_id.get(after) else {
            let task = after.clone();
            return Some(Wait::UnknownTask { task });
        };
        let (task, status) = (after.clone(), scheduled.status.clone());
        match scheduled.place {
            SchedulePlace::Ended { cancelled: false } => None,
            SchedulePlace::Ended { cancelled: true } => Some(Wait::Cancelled { task, status }),
            _ => Some(Wait::Dependency { task, status }),
        }
    });
    waits.collect()
}
