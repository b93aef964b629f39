//! Performs pending effects, one performer per task at a time.
//!
//! A performer takes the lock, performs what is due, releases the lock and checks again. If another
//! process records a new effect while the lock is held, this last check finds it, so no effect is
//! left behind.

pub(crate) mod abandoned_merge;
mod act;
mod assistants;
mod children;
mod command;
pub(crate) mod confirm_starts;
mod context_file;
mod conversation;
mod deliver;
pub(crate) mod kill;
mod merge;
mod merge_children;
mod merge_on_forge;
mod notify;
mod own_directory;
mod pull_request;
mod quick;
mod remote;
mod route;
mod router;
mod sandbox;
mod spawn;
mod stand_in;
pub(crate) mod warn_unperformed;

use std::sync::Arc;
use std::time::Duration;

use orange_config::LogLevel;
use orange_config::clock;
use orange_effects::tmux::Listing;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::steps::reach;
use orange_store::{Pending, StartAnswer, Store};
use serde_json::json;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::Context;
use crate::context::lock::Lock;
use crate::due::{Next, next};
use crate::failure::Failure;
use crate::forge::Forge;
use crate::schedule::Scheduler;
use crate::steps::Steps;
use crate::workspaces::Workspaces;

/// Performs pending effects, one performer per task at a time.
#[derive(Clone, Debug)]
pub struct Performer {
    context: Arc<Context>,
    workspaces: Workspaces,
    forge: Forge,
    steps: Steps,
    agents: Agents,
    scheduler: Scheduler,
    /// One listing of the tmux panes, shared while `confirm_starts` confirms many starts; otherwise
    /// `None`.
    listing: Option<Arc<Listing>>,
}

impl Performer {
    pub(crate) fn new(
        context: &Arc<Context>,
        workspaces: &Workspaces,
        forge: &Forge,
        steps: &Steps,
        agents: &Agents,
        scheduler: &Scheduler,
    ) -> Performer {
        Performer {
            context: Arc::clone(context),
            workspaces: workspaces.clone(),
            forge: forge.clone(),
            steps: steps.clone(),
            agents: agents.clone(),
            scheduler: scheduler.clone(),
            listing: None,
        }
    }
}

/// The longest sleep of a waiting performer.
const MAX_SLEEP: Duration = Duration::from_secs(1);

/// By what factor the number of tries grows while an obstacle prevents an effect: with the default
/// bounds, the tries then last about five minutes.
const OBSTACLE_TRIES: u32 = 4;

/// The longest pause between two tries while an obstacle prevents an effect.
const OBSTACLE_PAUSE: Duration = Duration::from_secs(30);

/// The result of performing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerformResult {
    /// Nothing is left to perform.
    All,
    /// Another process performs the effects.
    Elsewhere,
    /// Nothing can be performed before then.
    Waits(Timestamp),
}

impl Performer {
    /// Performs everything that is due, in order, and records each outcome.
    ///
    /// If the task's files (TASK.md, its history) cannot be written, the effects are performed all
    /// the same, and the error is returned at the end.
    pub fn perform(&self, task: &TaskId) -> Result<PerformResult, DriverError> {
        let (performed, copies) = self.perform_with_copies(task)?;
        copies.map(|()| performed)
    }

    /// Like `perform`, but returns separately whether the task's files could be written.
    pub(crate) fn perform_with_copies(
        &self,
        task: &TaskId,
    ) -> Result<(PerformResult, Result<(), DriverError>), DriverError> {
        let mut store = self.context.store()?;
        let directory = store.require(task)?.directory;
        loop {
            if store.require(task)?.task.is_deleted {
                return Ok((PerformResult::All, Ok(())));
            }
            if let Next::Now(pending) = next(&store, task, clock::now())?
                && self.is_for_another(&pending)
            {
                return Ok((PerformResult::Elsewhere, Ok(())));
            }
            let Some(lock) = Lock::to_perform(&directory)? else {
                return Ok((PerformResult::Elsewhere, Ok(())));
            };
            // Taking the lock creates the directory again if the task was deleted in between.
            if store.require(task)?.task.is_deleted {
                lock.undo(&directory);
                return Ok((PerformResult::All, Ok(())));
            }
            let result = self.drain(&mut store, task, |_| true);
            drop(lock);
            let copies = result?;
            match next(&store, task, clock::now())? {
                Next::Now(_) => {}
                Next::At(then) => return Ok((PerformResult::Waits(then), copies)),
                Next::Never => return Ok((PerformResult::All, copies)),
            }
        }
    }

    /// Performs until nothing is left, sleeping without the lock while effects only wait.
    pub fn perform_until_done(&self, task: &TaskId) -> Result<PerformResult, DriverError> {
        let mut waiting = None;
        loop {
            let then = match self.perform_with_copies(task)? {
                (PerformResult::Waits(then), _) => then,
                (result, copies) => return copies.map(|()| result),
            };
            if waiting.is_none() {
                let directory = self.context.store()?.require(task)?.directory;
                waiting = Lock::to_wait(&directory)?;
            }
            if waiting.is_none() {
                return Ok(PerformResult::Elsewhere);
            }
            clock::sleep_until(then, MAX_SLEEP);
        }
    }

    /// Performs what is due, up to the first effect that is not wanted; returns whether the task's
    /// files could be written after the last effect.
    fn drain(
        &self,
        store: &mut Store,
        task: &TaskId,
        is_wanted: impl Fn(&Pending) -> bool,
    ) -> Result<Result<(), DriverError>, DriverError> {
        let mut copies = Ok(());
        self.take_over(store, task)?;
        let mut upcoming = next(store, task, clock::now())?;
        while let Next::Now(pending) = upcoming {
            if self.is_for_another(&pending) || !is_wanted(&pending) {
                break;
            }
            self.perform_one(store, &pending)?;
            upcoming = next(store, task, clock::now())?;
            // Before the start of an agent, leave the files for later: writing them would delay
            // the start.
            let is_start = matches!(&upcoming,
                Next::Now(pending) if matches!(pending.planned.effect, Effect::Spawn(_)));
            if !is_start {
                // A file that cannot be written does not delay the next effect.
                copies = self.steps.sync_files(store, task);
                upcoming = next(store, task, clock::now())?;
            }
        }
        Ok(copies)
    }

    /// Performs one effect and records its outcome; the caller holds the lock.
    pub(crate) fn perform_one(
        &self,
        store: &mut Store,
        pending: &Pending,
    ) -> Result<(), DriverError> {
        let (task, effect) = (&pending.task, pending.planned.id);
        let by = format!("process {}", std::process::id());
        // Marking the effect as started also checks it: an effect that was cancelled meanwhile is
        // not performed.
        let result = match store.start_effect(task, effect, &by, clock::now())? {
            // The next query for due effects finds out when the effect can be performed, if at all.
            // One that the fleet's server holds back waits without an error or an attempt.
            StartAnswer::NotWaiting | StartAnswer::Gated(_) => return Ok(()),
            // The harness was parked a moment ago.
            StartAnswer::Parked(_) => return self.take_over(store, task),
            StartAnswer::Interrupted { by, at } => Err(Failure::permanent(format!(
                "{by} started this effect at {at}, and its outcome is unknown; it is not repeated"
            ))),
            StartAnswer::Go => {
                reach("before an effect");
                let effect = pending.planned.effect.label();
                self.context.progress.report(format!("{task}: {effect}"));
                self.context.log(
                    LogLevel::Debug,
                    task,
                    "started",
                    json!({ "effect": effect }),
                );
                let started_at = clock::now();
                let result = self.perform_effect(store, pending);
                self.log_outcome(pending, &result, started_at);
                reach("after an effect");
                result
            }
        };
        match result {
            Ok(outcome) => self.record_done(store, pending, outcome),
            Err(failure) => self.record_failed(store, pending, &failure),
        }
    }

    fn log_outcome(
        &self,
        pending: &Pending,
        result: &Result<EffectOutcome, Failure>,
        started_at: Timestamp,
    ) {
        let effect = pending.planned.effect.label();
        let took = clock::now().millis().saturating_sub(started_at.millis());
        let (level, what, error) = match result {
            Ok(_) => (LogLevel::Info, "performed", None),
            Err(failure) if failure.retry_at.is_some() => {
                (LogLevel::Debug, "deferred", Some(&failure.error))
            }
            Err(failure) if failure.is_permanent => {
                (LogLevel::Error, "failed", Some(&failure.error))
            }
            Err(failure) => (LogLevel::Warn, "failed", Some(&failure.error)),
        };
        let more = json!({ "effect": effect, "milliseconds": took, "error": error });
        self.context.log(level, &pending.task, what, more);
    }

    fn record_done(
        &self,
        store: &mut Store,
        pending: &Pending,
        outcome: EffectOutcome,
    ) -> Result<(), DriverError> {
        let effect = pending.planned.id;
        let done = Observation::EffectDone { effect, outcome };
        self.steps
            .step(store, &pending.task, &Cause::Observation(done))?;
        Ok(())
    }

    /// Schedules a retry, a few times. Then records that the effect has failed, so that the
    /// workflow can react.
    fn record_failed(
        &self,
        store: &mut Store,
        pending: &Pending,
        failure: &Failure,
    ) -> Result<(), DriverError> {
        let (task, effect) = (&pending.task, pending.planned.id);
        if let Some(until) = failure.retry_at {
            store.postpone_effect(task, effect, &failure.error, until)?;
            return Ok(());
        }
        // Recording a failed attempt puts the effect back to waiting, so another process could
        // perform it. After a permanent failure the effect stays marked as started instead, until
        // its failure is recorded below.
        if !failure.is_permanent {
            let doublings = pending.attempts.min(16);
            let pause = self.context.bounds.backoff.saturating_mul(1 << doublings);
            let (tries, pause) = if failure.is_obstacle {
                let tries = self.context.bounds.tries.saturating_mul(OBSTACLE_TRIES);
                (tries, pause.min(OBSTACLE_PAUSE))
            } else {
                (self.context.bounds.tries, pause)
            };
            let retry_at = clock::after(pause);
            let attempts = store.record_failed_attempt(task, effect, &failure.error, retry_at)?;
            if attempts.is_none_or(|attempts| attempts < tries) {
                return Ok(());
            }
        }
        let observation = Observation::EffectFailed {
            effect,
            error: failure.error.clone(),
            feedback: failure.feedback.clone(),
        };
        self.steps
            .step(store, task, &Cause::Observation(observation))?;
        Ok(())
    }
}
