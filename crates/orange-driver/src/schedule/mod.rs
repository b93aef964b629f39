//! Starts what is next, and says what the rest waits for.

pub(crate) mod children;
pub(crate) mod parked;

use std::collections::BTreeSet;

use orange_config::clock;
use orange_config::{LogLevel, WhenFull};
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Ask, Cause, Observation, Request};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::schedule::{
    Limits, Place, Schedule, Standing, Wait, limits_reached, waits_before_limits,
};
use orange_engine::{Workflow, schedule};
use orange_store::Store;
use serde_json::json;

use crate::perform::due::is_waiting;
use crate::step::{Stepped, pinned};
use crate::{Driver, DriverError};

impl Driver {
    /// Starts everything that can be started now, in the order of the engine, and tells parents of
    /// their children; answers with what was started. One that fails keeps no other from it.
    pub fn schedule(&self) -> Result<Vec<TaskId>, DriverError> {
        let mut store = self.store()?;
        let standings = store.standings()?;
        for parent in standings.iter().filter(|it| is_open(it)) {
            let met = self.meet_children(&mut store, &parent.task);
            self.log_failure(&parent.task, met.map(|_| ()));
        }
        let found = self.scheduled(&store)?;
        for (task, waits) in &found.waits {
            let noticed = self.notice_dead_ends(&mut store, task, waits);
            self.log_failure(task, noticed);
        }
        Ok(self.start_each(&mut store, &found.starts, usize::MAX))
    }

    /// Starts the next one of a project.
    pub(super) fn start_next(
        &self,
        store: &mut Store,
        project: &ProjectName,
    ) -> Result<Vec<TaskId>, DriverError> {
        let found = self.scheduled(store)?;
        let mut starts = Vec::new();
        for task in found.starts {
            if store.require(&task)?.task.project == *project {
                starts.push(task);
            }
        }
        Ok(self.start_each(store, &starts, 1))
    }

    /// Starts those of these tasks that can be started now, where no supervisor does.
    pub(super) fn start_if_unsupervised(
        &self,
        store: &mut Store,
        tasks: &[TaskId],
    ) -> Result<(), DriverError> {
        if !self.is_supervised() {
            let mut starts = self.scheduled(store)?.starts;
            starts.retain(|task| tasks.contains(task));
            self.start_each(store, &starts, usize::MAX);
        }
        Ok(())
    }

    /// What a task in a queue waits for, and what starts of its agents wait for; nothing when it is
    /// next, or under way.
    pub(super) fn waits(&self, store: &Store, task: &TaskId) -> Result<Vec<Wait>, DriverError> {
        let mut waits = self.waits_in_queue(store, task)?;
        let starts = store.pending(task)?;
        let starts = starts.iter().filter(|it| is_waiting(it));
        let harnesses: Vec<&HarnessName> = starts
            .filter_map(|pending| match &pending.planned.effect {
                Effect::Spawn(spawn) => Some(&spawn.harness),
                Effect::NotifyRole(notify) if pending.next_try_at.is_some() => {
                    notify.otherwise.as_ref().map(|spawn| &spawn.harness)
                }
                _ => None,
            })
            .collect();
        let parked = store.parked(clock::now())?.into_iter();
        let parked = parked.filter(|it| harnesses.contains(&&it.harness));
        waits.extend(parked.map(Wait::Parked));
        Ok(waits)
    }

    fn waits_in_queue(&self, store: &Store, task: &TaskId) -> Result<Vec<Wait>, DriverError> {
        let Some((own, dependencies)) = store.standing(task)? else {
            return Ok(Vec::new());
        };
        let waits = waits_before_limits(&own, &dependencies, clock::now());
        if !waits.is_empty() || !matches!(own.place, Place::Queued(_)) {
            return Ok(waits);
        }
        let mut limits = self.limits(&Role::Engine)?;
        limits.parked = store.parked(clock::now())?;
        let waits = limits_reached(&own, &store.holders()?, &limits);
        if !waits.is_empty() {
            return Ok(waits);
        }
        // Where there is room, it depends on every task that goes first.
        let mut found = self.scheduled(store)?;
        Ok(found.waits.remove(task).unwrap_or_default())
    }

    fn scheduled(&self, store: &Store) -> Result<Schedule, DriverError> {
        let now = clock::now();
        let mut limits = self.limits(&Role::Engine)?;
        limits.parked = store.parked(now)?;
        Ok(schedule(&store.standings()?, &limits, now))
    }

    /// The limits that a start keeps. Where the settings want a full pool refused, it is no limit for
    /// a person, who is told which task has which workspace instead.
    pub(super) fn limits(&self, by: &Role) -> Result<Limits, DriverError> {
        let mut limits = self.settings(None)?.limits;
        let projects = self.projects()?;
        for name in projects.names() {
            let project = projects.require(&name)?;
            let pool = self.settings(Some(project))?.pool;
            if *by == Role::Engine || pool.when_full == WhenFull::Queue {
                limits.pools.insert(name, pool.size);
            }
        }
        Ok(limits)
    }

    /// The limits that a plan keeps, if it starts the work of a task.
    pub(super) fn limits_of_start(
        &self,
        workflow: &Workflow,
        events: &[Event],
        cause: &Cause,
    ) -> Result<Option<Limits>, DriverError> {
        let Cause::Request(request) = cause else {
            return Ok(None);
        };
        let kind = |status: &Status| workflow.state(status).map(|state| state.kind);
        let is_start = |event: &Event| match &event.fact {
            Fact::StatusChanged(changed) => {
                kind(&changed.from) == Some(Kind::Queued)
                    && matches!(kind(&changed.to), Some(Kind::Agent | Kind::Human))
            }
            _ => false,
        };
        if events.iter().any(is_start) {
            return self.limits(&request.by).map(Some);
        }
        Ok(None)
    }

    fn start_each(&self, store: &mut Store, tasks: &[TaskId], most: usize) -> Vec<TaskId> {
        let mut started = Vec::new();
        for task in tasks {
            if started.len() >= most {
                break;
            }
            match self.start(store, task) {
                Ok(true) => started.push(task.clone()),
                Ok(false) => {}
                Err(error) => self.log_failure(task, Err(error)),
            }
        }
        started
    }

    /// Starts one, unless something stands in its way; what was read then is no import, because
    /// nobody asked. A queue that leads into another one is followed by that.
    fn start(&self, store: &mut Store, task: &TaskId) -> Result<bool, DriverError> {
        let cause = Cause::Request(spawn(Role::Engine));
        let mut passed = BTreeSet::from([store.require(task)?.task.status]);
        let mut is_started = false;
        while let Stepped::Recorded { .. } = self.step(store, task, &cause)? {
            is_started = true;
            let stored = store.require(task)?;
            let state = pinned(&stored)?;
            let state = state.state(&stored.task.status);
            let is_queue = state.is_some_and(|state| state.kind == Kind::Queued);
            if !is_queue || !passed.insert(stored.task.status) {
                break;
            }
        }
        if is_started {
            self.leave_to_performer(store, task)?;
            self.project_files(store, task)?;
        }
        Ok(is_started)
    }

    /// Tells a person that a task waits for what will never be.
    fn notice_dead_ends(
        &self,
        store: &mut Store,
        task: &TaskId,
        waits: &[Wait],
    ) -> Result<(), DriverError> {
        for wait in waits {
            if matches!(wait, Wait::Cancelled { .. } | Wait::Missing { .. }) {
                let what = wait.to_string();
                let noticed = Cause::Observation(Observation::Noticed { what });
                if let Stepped::Recorded { .. } = self.step(store, task, &noticed)? {
                    self.project_files(store, task)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn log_failure(&self, task: &TaskId, done: Result<(), DriverError>) {
        if let Err(error) = done {
            let error = json!({ "error": error.to_string() });
            self.log(LogLevel::Warn, task, "schedule.failed", error);
        }
    }

    /// What follows from the end of a task for others: a parent hears of it, and who waits for a
    /// task that was given up needs a person. Whoever dies before this leaves it to the next command
    /// about the parent, or to the next schedule.
    pub(super) fn tell_of_end(&self, store: &mut Store, ended: &Standing) {
        if let Some(parent) = &ended.parent {
            let met = self.meet_children(store, parent);
            self.log_failure(parent, met.map(|_| ()));
        }
        if ended.place == (Place::Ended { cancelled: true }) {
            let told = self.tell_dependents(store, &ended.task);
            self.log_failure(&ended.task, told);
        }
    }

    fn tell_dependents(&self, store: &mut Store, ended: &TaskId) -> Result<(), DriverError> {
        for standing in store.dependents(ended)? {
            if matches!(standing.place, Place::Queued(_)) {
                let wait = Wait::Cancelled {
                    task: ended.clone(),
                    status: store.require(ended)?.task.status,
                };
                self.notice_dead_ends(store, &standing.task, &[wait])?;
            }
        }
        Ok(())
    }
}

/// The request that starts the work of a task.
pub(super) fn spawn(by: Role) -> Request {
    Request {
        by,
        ask: Ask::Verb(Verb::Spawn),
        confirmed: false,
        message: None,
        head: None,
    }
}

fn is_open(standing: &Standing) -> bool {
    !matches!(standing.place, Place::Ended { .. })
}
