//! Starts queued tasks, and reports what the others wait for.

pub(crate) mod budget;
pub(crate) mod parking;

use std::collections::BTreeSet;
use std::sync::Arc;

use orange_config::clock;
use orange_engine::effect::Effect;
use orange_engine::input::{Cause, Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::schedule;
use orange_engine::schedule::{
    Schedule, SchedulePlace, ScheduledTask, Wait, reached_limits, waits_before_limits,
};
use orange_store::Store;

use crate::DriverError;
use crate::callers::Callers;
use crate::context::Context;
use crate::due::is_waiting;
use crate::steps::Steps;
use crate::steps::{StepResult, pinned_workflow};

/// How many of the tasks that go first are read at first.
const FIRST_LOOK: usize = 32;

/// Starts queued tasks in order.
#[derive(Clone, Debug)]
pub struct Scheduler {
    context: Arc<Context>,
    callers: Callers,
    steps: Steps,
}

impl Scheduler {
    pub(crate) fn new(context: &Arc<Context>, callers: &Callers, steps: &Steps) -> Scheduler {
        Scheduler {
            context: Arc::clone(context),
            callers: callers.clone(),
            steps: steps.clone(),
        }
    }
}

impl Scheduler {
    /// Starts everything that can be started now, in the engine's order, and informs parents about
    /// their children; returns what was started. A failure with one task does not stop the others.
    pub fn schedule(&self) -> Result<Vec<TaskId>, DriverError> {
        let mut store = self.context.store()?;
        let standings = store.standings()?;
        for parent in standings.iter().filter(|it| is_open(it)) {
            let result = self.steps.notify_of_children(&mut store, &parent.task);
            self.steps.log_failure(&parent.task, result.map(|_| ()));
        }
        let current = self.current_schedule(&store)?;
        for (task, waits) in &current.waits {
            let result = self.steps.notice_dead_ends(&mut store, task, waits);
            self.steps.log_failure(task, result);
        }
        let started = self.start_each(&mut store, &current.starts, usize::MAX);
        self.stop_over_budget(&mut store)?;
        Ok(started)
    }

    /// Starts the next task of a project.
    pub(crate) fn start_next(
        &self,
        store: &mut Store,
        project: &ProjectName,
    ) -> Result<Vec<TaskId>, DriverError> {
        let current = self.current_schedule(store)?;
        let mut starts = Vec::new();
        for task in current.starts {
            if store.require(&task)?.task.project == *project {
                starts.push(task);
            }
        }
        Ok(self.start_each(store, &starts, 1))
    }

    /// Starts those of these tasks that can be started now, unless a supervisor runs, which starts
    /// them itself.
    pub(crate) fn start_if_unsupervised(
        &self,
        store: &mut Store,
        tasks: &[TaskId],
    ) -> Result<(), DriverError> {
        if !self.context.is_supervised() {
            let mut starts = self.current_schedule(store)?.starts;
            starts.retain(|task| tasks.contains(task));
            self.start_each(store, &starts, usize::MAX);
        }
        Ok(())
    }

    /// What a queued task waits for, and what the starts of its agents wait for; empty when the
    /// task is next or running.
    pub(crate) fn waits(&self, store: &Store, task: &TaskId) -> Result<Vec<Wait>, DriverError> {
        let mut waits = self.waits_in_queue(store, task)?;
        let starts = store.pending(task)?;
        let starts = starts.iter().filter(|it| is_waiting(it));
        let harnesses: Vec<&HarnessName> = starts
            .filter_map(|pending| match &pending.planned.effect {
                Effect::Spawn(spawn) => Some(&spawn.harness),
                Effect::NotifyRole(notify) if pending.next_attempt_at.is_some() => {
                    notify.spawn_if_absent.as_ref().map(|spawn| &spawn.harness)
                }
                _ => None,
            })
            .collect();
        let parked = store.parkings(clock::now())?.into_iter();
        let parked = parked.filter(|it| harnesses.contains(&&it.harness));
        waits.extend(parked.map(Wait::Parked));
        waits.extend(self.budget_waits_of_starts(store, task)?);
        Ok(waits)
    }

    fn waits_in_queue(&self, store: &Store, task: &TaskId) -> Result<Vec<Wait>, DriverError> {
        let Some((own, dependencies)) = store.standing(task)? else {
            return Ok(Vec::new());
        };
        let waits = waits_before_limits(&own, &dependencies, clock::now());
        if !waits.is_empty() || !matches!(own.place, SchedulePlace::Queued(_)) {
            return Ok(waits);
        }
        let limits = self.steps.current_limits(store)?;
        let holders = store.tasks_under_limits()?;
        let waits = reached_limits(&own, &holders, &limits);
        if !waits.is_empty() {
            return Ok(waits);
        }
        // If the limits leave room, the answer depends on the tasks that go first. Usually the first
        // few of thousands take all the room; later ones can only take more.
        let mut most = FIRST_LOOK;
        loop {
            let head = store.queued_before(&own, most)?;
            let own = std::iter::once(&own).chain(&dependencies);
            let all: Vec<ScheduledTask> = [holders.as_slice(), &head.tasks].concat();
            let all: Vec<ScheduledTask> = all.into_iter().chain(own.cloned()).collect();
            let waits = schedule(&all, &limits, clock::now()).waits.remove(task);
            if waits.is_some() || head.is_complete {
                return Ok(waits.unwrap_or_default());
            }
            most *= 8;
        }
    }

    fn current_schedule(&self, store: &Store) -> Result<Schedule, DriverError> {
        let now = clock::now();
        let limits = self.steps.current_limits(store)?;
        Ok(schedule(&store.standings()?, &limits, now))
    }

    fn start_each(&self, store: &mut Store, tasks: &[TaskId], limit: usize) -> Vec<TaskId> {
        let mut started = Vec::new();
        for task in tasks {
            if started.len() >= limit {
                break;
            }
            match self.start(store, task) {
                Ok(true) => started.push(task.clone()),
                Ok(false) => {}
                Err(error) => self.steps.log_failure(task, Err(error)),
            }
        }
        started
    }

    /// Starts a task, unless something prevents the start. If the start is refused, what was read
    /// from TASK.md is not imported, because no caller asked. If the queue leads into another one,
    /// leaves that queue too.
    fn start(&self, store: &mut Store, task: &TaskId) -> Result<bool, DriverError> {
        let cause = Cause::Request(spawn(Role::Engine));
        let mut left_queues = BTreeSet::from([store.require(task)?.task.status]);
        let mut is_started = false;
        while let StepResult::Recorded { .. } = self.steps.step(store, task, &cause)? {
            is_started = true;
            let stored = store.require(task)?;
            let state = pinned_workflow(&stored)?;
            let state = state.state(&stored.task.status);
            let is_queue = state.is_some_and(|state| state.kind == Kind::Queued);
            if !is_queue || !left_queues.insert(stored.task.status) {
                break;
            }
        }
        if is_started {
            self.context.leave_to_performer(store, task)?;
            self.steps.sync_files(store, task)?;
        }
        Ok(is_started)
    }
}

pub(crate) fn spawn(by: Role) -> Request {
    Request::new(by, RequestKind::Verb(Verb::Spawn))
}

fn is_open(standing: &ScheduledTask) -> bool {
    !matches!(standing.place, SchedulePlace::Ended { .. })
}
