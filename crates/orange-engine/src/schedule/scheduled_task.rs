//! The parts of a task that scheduling needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::budget::Start;
use crate::language::hooks::SpawnHook;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Kind, Target, Trigger};
use crate::language::{ATTEMPTS, Workflow};
use crate::names::{FieldName, HarnessName, JobName, ProjectName, Status, TaskId};
use crate::role::Role;
use crate::routing::Split;
use crate::task::{PendingState, Task, Workspace};
use crate::time::Timestamp;

/// How long a task is left alone after a failed start, in milliseconds.
const FAILED_START_PAUSE: i64 = 60_000;

/// How long the second attempt waits after the first, in milliseconds; each later attempt waits
/// twice as long as the one before it.
const FIRST_BACKOFF: i64 = 10_000;

/// The longest pause between two attempts, in milliseconds.
const LONGEST_BACKOFF: i64 = 300_000;

/// The parts of a task that scheduling needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledTask {
    pub task: TaskId,
    pub project: ProjectName,
    pub harness: HarnessName,
    /// The model that the task sets.
    pub model: Option<String>,
    /// The job that it was created for.
    pub job: Option<JobName>,
    pub status: Status,
    /// What its status means for scheduling.
    pub place: SchedulePlace,
    /// How many agents it has, by harness.
    pub agents: BTreeMap<HarnessName, u32>,
    /// Whether it has a workspace, including one that is being released.
    pub has_workspace: bool,
    /// Whether its start needs no workspace.
    pub needs_no_workspace: bool,
    /// Higher starts sooner.
    pub priority: i64,
    /// When it entered its status.
    pub since: Timestamp,
    /// The tasks that must be done first.
    pub after: BTreeSet<TaskId>,
    pub parent: Option<TaskId>,
}

/// What a status means for scheduling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulePlace {
    /// It waits for its start.
    Queued(QueueEntry),
    Active,
    Ended {
        cancelled: bool,
    },
}

/// How a task waits for its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Whether tasks return to this queue, because it is not an entry of the workflow.
    pub is_requeued: bool,
    /// What may start it.
    pub starter: Starter,
    /// Where the start leads, if known.
    pub to: Option<Status>,
    /// Whether the effects of entering this queue are still running.
    pub has_running_effects: bool,
    /// When it may start again, after a failed start or an attempt that did not finish the work.
    pub not_before: Option<Timestamp>,
}

/// What may start a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// The engine starts it.
    Engine,
    /// The workflow leaves it to the user.
    User,
    /// Its start has not been requested.
    NotRequested,
    /// The user decides first whether to split it.
    Split,
}

impl ScheduledTask {
    /// Its start, as a budget judges it.
    pub fn start(&self) -> Start<'_> {
        Start {
            task: &self.task,
            project: &self.project,
            job: self.job.as_ref(),
            harness: &self.harness,
            model: self.model.as_deref(),
        }
    }

    pub fn of(workflow: &Workflow, task: &Task) -> ScheduledTask {
        let kind = workflow.state(&task.status).map(|state| state.kind);
        let place = match kind {
            Some(Kind::Queued) => SchedulePlace::Queued(queue_entry(workflow, task)),
            Some(Kind::Terminal) => SchedulePlace::Ended {
                cancelled: workflow.is_cancelled(&task.status),
            },
            _ => SchedulePlace::Active,
        };
        ScheduledTask {
            task: task.id.clone(),
            project: task.project.clone(),
            harness: task.harness.clone(),
            model: task.agent_settings.model.clone(),
            job: task.job.as_ref().map(|link| link.name.clone()),
            status: task.status.clone(),
            place,
            agents: agents(kind, task),
            has_workspace: task.workspace != Workspace::None,
            needs_no_workspace: starts_without_worktree(workflow, task),
            priority: task.queueing.priority,
            since: task.entered.at,
            after: task.queueing.after.clone(),
            parent: task.queueing.parent.clone(),
        }
    }
}

fn queue_entry(workflow: &Workflow, task: &Task) -> QueueEntry {
    let to = spawn_target(workflow, task);
    let has_begun = task.entered.from.is_some();
    let starter = match &to {
        _ if !has_begun && !task.queueing.starts_automatically => Starter::NotRequested,
        Some(_) if task.routing.split == Split::Suggested => Starter::Split,
        Some(_) => Starter::Engine,
        None => Starter::User,
    };
    let has_running_effects = task.pending.iter().any(|pending| {
        task.unfinished_plan == Some(pending.planned.plan) && pending.state == PendingState::Waiting
    });
    QueueEntry {
        is_requeued: !workflow.entries.iter().any(|it| it.status == task.status),
        starter,
        to,
        has_running_effects,
        not_before: pause(task)
            .map(|pause| Timestamp::from_millis(task.entered.at.millis().saturating_add(pause))),
    }
}

/// How long a task that returned to its queue is left alone.
fn pause(task: &Task) -> Option<i64> {
    match task.entered.trigger? {
        Trigger::SpawnFailed => Some(FAILED_START_PAUSE),
        // An attempt that did not finish the work; a workflow that counts no attempts has no pause.
        Trigger::Report | Trigger::Exit | Trigger::Crash | Trigger::Timeout => {
            let attempts = task.value(&FieldName::new(ATTEMPTS));
            let earlier = u32::try_from(attempts.checked_sub(2)?).ok()?;
            let factor = 2_i64.saturating_pow(earlier);
            let pause = FIRST_BACKOFF.saturating_mul(factor).min(LONGEST_BACKOFF);
            Some(pause - spread(&task.id, attempts, pause / 5))
        }
        _ => None,
    }
}

/// A part of `most` that differs from task to task, so that tasks that failed together do not all
/// start again together. It is the same whenever it is asked for.
fn spread(task: &TaskId, attempts: i64, most: i64) -> i64 {
    let seed = task.as_str().bytes().fold(attempts, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(i64::from(byte))
    });
    seed.rem_euclid(most.saturating_add(1))
}

/// Where the `spawn` verb leads, if the engine may use it now.
fn spawn_target(workflow: &Workflow, task: &Task) -> Option<Status> {
    let targets = workflow.verbs.get(&Verb::Spawn).into_iter().flatten();
    let mut targets = targets.filter_map(|target| match target {
        Target::Status(status) => Some(status),
        Target::Previous => task.entered.from.as_ref(),
    });
    let is_open = |edge: &Edge, to: &Status| {
        let leads = match &edge.to {
            Target::Status(status) => status == to,
            Target::Previous => task.entered.from.as_ref() == Some(to),
        };
        let when = edge.when.as_ref();
        leads
            && edge.trigger == Trigger::Request
            && edge.is_open_to(&Role::Engine)
            && when.is_none_or(|when| when.holds(|field| task.value(field)))
    };
    let found = targets.find(|to| {
        let mut edges = workflow.edges_from(&task.status);
        edges.any(|edge| is_open(edge, to))
    });
    found.cloned()
}

/// Whether the next start runs its agent without a worktree.
fn starts_without_worktree(workflow: &Workflow, task: &Task) -> bool {
    let Some(to) = spawn_target(workflow, task) else {
        return false;
    };
    let edges = workflow.edges_from(&task.status);
    let mut hooks = edges
        .filter(|edge| edge.to == Target::Status(to.clone()))
        .flat_map(|edge| &edge.hooks);
    hooks.any(|hook| {
        let plans = |spawn: &SpawnHook| spawn.plan.is_some() && task.routing.split == Split::Wanted;
        let spawn = hook.action.spawn();
        spawn.is_some_and(|spawn| spawn.without_worktree || plans(spawn))
    })
}

/// The agents that run or will run. A task whose agent is between two runs keeps its slot.
fn agents(kind: Option<Kind>, task: &Task) -> BTreeMap<HarnessName, u32> {
    let mut agents = BTreeMap::new();
    for (role, run) in &task.runs {
        if run.state.is_live() {
            let harness = match role {
                Role::Reviewer => &task.review_harness,
                _ => &task.harness,
            };
            *agents.entry(harness.clone()).or_insert(0) += 1;
        }
    }
    if agents.is_empty() && kind == Some(Kind::Agent) {
        agents.insert(task.harness.clone(), 1);
    }
    agents
}
