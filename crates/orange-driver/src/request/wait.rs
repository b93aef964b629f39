//! Gets planned effects performed, and waits for them, within limits.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use orange_config::LogLevel;
use orange_config::clock::{self, Deadline};
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_store::{Pending, Store};
use serde_json::json;

use super::answer::{self, Answer, ChangeReport};
use crate::DriverError;
use crate::context::background::StartedProcess;
use crate::due::{is_awaited, is_waiting};
use crate::request::Requests;
use crate::steps::pinned_workflow;

/// How often a caller that performs itself checks whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Which process performs effects, and how long the caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// A separate process performs; the caller waits this long.
    Detached(Duration),
    /// This process performs what is quick, such as the start of an agent, and a separate process
    /// the rest; the caller waits this long. If an agent calls, a separate process performs all.
    Quick(Duration),
    /// This process performs. Unsuitable for a process that a kill of the task could end.
    Here,
    /// Nothing is performed for now, and the caller does not wait.
    Skip,
}

impl WaitPolicy {
    /// How long the caller waits for another process.
    fn bound(self) -> Option<Duration> {
        match self {
            WaitPolicy::Detached(bound) | WaitPolicy::Quick(bound) => Some(bound),
            WaitPolicy::Here | WaitPolicy::Skip => None,
        }
    }
}

impl Requests {
    /// Has the effects of a task performed, and reports on those that these events planned.
    ///
    /// Does not wait for effects that were planned after these events: an agent that was just
    /// started may already have made the next request, and waits for its effects itself. Without
    /// events, waits for all effects planned so far.
    pub(crate) fn settle(
        &self,
        store: &mut Store,
        id: &TaskId,
        events: Vec<Event>,
        waiting: WaitPolicy,
        performer: StartedProcess,
    ) -> Result<Answer, DriverError> {
        let last = match events.last() {
            Some(event) => event.version,
            None => store.require(id)?.task.version,
        };
        let mut copies = Ok(());
        match waiting {
            WaitPolicy::Here => copies = self.performer.perform_with_copies(id)?.1,
            WaitPolicy::Detached(bound) | WaitPolicy::Quick(bound)
                if is_settled(store, id, last)? =>
            {
                if performer.is_empty() {
                    self.context.leave_to_performer(store, id)?;
                }
                self.wait_for_end(store, id, performer.deadline(bound))?;
            }
            WaitPolicy::Detached(bound) | WaitPolicy::Quick(bound) => {
                let deadline = performer.deadline(bound);
                self.wait(store, id, last, deadline, performer)?;
                self.wait_for_end(store, id, deadline)?;
                // A performer records first and then writes TASK.md. Sync here, so that the caller
                // finds both up to date.
                copies = self.steps.sync_files(store, id);
            }
            WaitPolicy::Skip => {}
        }
        let releases = answer::releases(&events);
        let mut changed = Box::new(ChangeReport::since(store, id, events)?);
        if releases {
            // A failure to read the repository does not change what has happened.
            let kept = self
                .workspaces
                .kept_worktrees(store, id, &changed.task.project);
            changed.kept_worktrees = kept.unwrap_or_default();
        }
        let answer = if is_settled(store, id, last)? {
            Answer::Done(changed)
        } else {
            Answer::StillRunning(changed)
        };
        Ok(answer.with_copies(&copies))
    }

    /// Waits for the effects that a recorded change has planned, and reports on them.
    pub fn await_effects(
        &self,
        change: ChangeReport,
        bound: Duration,
    ) -> Result<Answer, DriverError> {
        let mut store = self.context.store()?;
        let performer = StartedProcess::started_elsewhere();
        let waiting = WaitPolicy::Detached(bound);
        self.settle(
            &mut store,
            &change.task.id,
            change.events,
            waiting,
            performer,
        )
    }

    /// Adds to an answer whether the copies of the recorded events could be written. Retries failed
    /// copies once. The answer stands even if they fail again.
    pub(crate) fn answer_with_copies(
        &self,
        store: &mut Store,
        id: &TaskId,
        answer: Answer,
        copies: &Result<(), DriverError>,
    ) -> Answer {
        if copies.is_ok() {
            return answer;
        }
        let copies = self.steps.sync_files(store, id);
        if let Err(error) = &copies {
            let error = json!({ "error": error.to_string() });
            self.context.log(LogLevel::Warn, id, "copies.failed", error);
        }
        answer.with_copies(&copies)
    }

    /// Waits for the effects that the end of a task has planned, whichever process performs them: a
    /// merge returns once the worktree and the remote branch are released.
    fn wait_for_end(
        &self,
        store: &Store,
        id: &TaskId,
        deadline: Deadline,
    ) -> Result<(), DriverError> {
        if !store.pending(id)?.iter().any(is_waiting) {
            return Ok(());
        }
        let stored = store.require(id)?;
        if !pinned_workflow(&stored)?.is_terminal(&stored.task.status) {
            return Ok(());
        }
        self.wait(
            store,
            id,
            u64::MAX,
            deadline,
            StartedProcess::started_elsewhere(),
        )
    }

    fn wait(
        &self,
        store: &Store,
        id: &TaskId,
        last: u64,
        deadline: Deadline,
        mut performer: StartedProcess,
    ) -> Result<(), DriverError> {
        let mut failure = None;
        deadline.wait_for(|| {
            let result = first_unsettled(store, id, last).and_then(|left| {
                let Some(left) = left else {
                    return Ok(true);
                };
                self.context.progress.report(describe_pending(&left));
                if performer.is_another_due() {
                    // Starting one too many does no harm: a performer that finds another at work
                    // exits at once.
                    performer.note(self.context.start_performer(id)?);
                }
                Ok(self.context.progress.is_over())
            });
            result.unwrap_or_else(|error| {
                failure = Some(error);
                true
            })
        });
        match failure {
            Some(error) => Err(error),
            // Effects that are due later need a process that waits for them.
            None => self.context.leave_to_performer(store, id),
        }
    }

    /// Performs what is quick, if the caller wants that, and starts a performer for the rest, so that
    /// the performer works while this process continues.
    pub(crate) fn call_performer(
        &self,
        store: &Store,
        id: &TaskId,
        waiting: WaitPolicy,
    ) -> Result<StartedProcess, DriverError> {
        let mut performer = StartedProcess::none();
        if waiting.bound().is_none() || !store.pending(id)?.iter().any(is_waiting) {
            return Ok(performer);
        }
        if self.context.is_supervised() {
            return Ok(StartedProcess::started_elsewhere());
        }
        // A server outlives the command, so a performer in it would not make room for the next one.
        let is_of_server = self.context.environment.is_of_server();
        let (WaitPolicy::Quick(bound), false) = (waiting, is_of_server) else {
            performer.note(self.context.start_performer(id)?);
            return Ok(performer);
        };
        let deadline = performer.wait_until(Deadline::after(bound));
        if self.context.is_called_by_agent() || self.perform_quick(store, id, deadline)? {
            if store.pending(id)?.iter().any(is_waiting) {
                performer.note(self.context.start_performer(id)?);
            }
        } else {
            // The thread may hold the lock until this process exits.
            performer.note(self.context.start_successor(id)?);
        }
        Ok(performer)
    }

    /// Performs what is quick in this process; returns false if the caller stops waiting before the
    /// end, while a thread still performs.
    fn perform_quick(
        &self,
        store: &Store,
        id: &TaskId,
        deadline: Deadline,
    ) -> Result<bool, DriverError> {
        // Saved for processes that agents trigger later.
        self.context.user_variables()?;
        let Some(performance) = self.performer.start_quick(store, id, deadline)? else {
            return Ok(true);
        };
        loop {
            match performance.recv_timeout(STOP_INTERVAL.min(deadline.remaining())) {
                Ok(result) => return result.map(|()| true),
                Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.context.progress.is_over() || deadline.has_passed() {
                return Ok(false);
            }
        }
    }
}

/// Whether nothing that was planned up to this version is left to wait for.
fn is_settled(store: &Store, id: &TaskId, last: u64) -> Result<bool, DriverError> {
    Ok(first_unsettled(store, id, last)?.is_none())
}

/// The first effect to wait for among those planned up to this version.
fn first_unsettled(store: &Store, id: &TaskId, last: u64) -> Result<Option<Pending>, DriverError> {
    let now = clock::now();
    for pending in store.pending(id)? {
        if pending.planned.id.0 <= last && is_awaited(store, &pending, now)? {
            return Ok(Some(pending));
        }
    }
    Ok(None)
}

/// The current action, for the progress display.
fn describe_pending(pending: &Pending) -> String {
    let (task, effect) = (&pending.task, pending.planned.effect.label());
    match pending.attempts {
        0 => match &pending.error {
            Some(reason) => format!("{task}: {effect} {reason}"),
            None => format!("{task}: {effect}"),
        },
        1 => format!("{task}: {effect}, failed once"),
        times => format!("{task}: {effect}, failed {times} times"),
    }
}
