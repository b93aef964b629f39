//! Gets what was planned performed, and waits for it, within bounds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_config::{LogLevel, ORANGE_BACKGROUND, ORANGE_HOME};
use orange_effects::command::{Invocation, detached};
use orange_effects::process::{Life, ProcessIdentity};
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_store::{Pending, Store};
use serde_json::json;

use super::answer::{Answer, Changed};
use crate::perform::due::{is_awaited, is_waiting};
use crate::step::pinned;
use crate::{Driver, DriverError};

/// How long effects may lie untouched before another performer is started.
const UNTOUCHED: Duration = Duration::from_secs(1);

/// How long a performer that has ended is left without a successor, the first time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Who performs, and how long is waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A process of its own performs; it is waited for this long.
    Detached(Duration),
    /// This process performs. Not for a process that a kill of the task could end.
    Here,
    /// Nobody performs for now.
    Not,
}

impl Waiting {
    /// What a command does: an agent's shell tool has a bound of its own.
    pub const USUAL: Waiting = Waiting::Detached(Duration::from_secs(8));
}

impl Driver {
    /// Brings the effects of a task about, and says how far those came that were asked for.
    ///
    /// An agent that was started may ask for the next thing at once; what that plans is waited for
    /// by whoever asked for it. Asking for nothing new waits for everything there is.
    pub(crate) fn settle(
        &self,
        store: &mut Store,
        id: &TaskId,
        events: Vec<Event>,
        waiting: Waiting,
        called: Called,
    ) -> Result<Answer, DriverError> {
        let last = match events.last() {
            Some(event) => event.version,
            None => store.require(id)?.task.version,
        };
        let mut copies = Ok(());
        match waiting {
            Waiting::Here => copies = self.perform_noting(id)?.1,
            Waiting::Detached(bound) if is_settled(store, id, last)? => {
                if called.is_nobody() {
                    self.leave_to_performer(store, id)?;
                }
                self.wait_for_end(store, id, Deadline::after(bound))?;
            }
            Waiting::Detached(bound) => {
                let deadline = Deadline::after(bound);
                self.wait(store, id, last, deadline, called)?;
                self.wait_for_end(store, id, deadline)?;
                // Who performs records first and writes TASK.md then; who is answered finds both.
                copies = self.project_files(store, id);
            }
            Waiting::Not => {}
        }
        let changed = Box::new(Changed::since(store, id, events)?);
        let answer = if is_settled(store, id, last)? {
            Answer::Done(changed)
        } else {
            Answer::StillRunning(changed)
        };
        Ok(answer.noting(&copies))
    }

    /// The answer to what was recorded, whether or not its copies could be written: those that
    /// failed are tried once more, and a failure is told with the answer.
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
        let copies = self.project_files(store, id);
        if let Err(error) = &copies {
            let error = json!({ "error": error.to_string() });
            self.log(LogLevel::Warn, id, "copies.failed", error);
        }
        answer.noting(&copies)
    }

    /// Waits for what the end of a task has planned: a merge answers once worktree and remote
    /// branch are released, whoever performs.
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
        if !pinned(&stored)?.is_terminal(&stored.task.status) {
            return Ok(());
        }
        self.wait(store, id, u64::MAX, deadline, Called::awaited())
    }

    fn wait(
        &self,
        store: &Store,
        id: &TaskId,
        last: u64,
        deadline: Deadline,
        mut called: Called,
    ) -> Result<(), DriverError> {
        let mut failure = None;
        deadline.wait_for(|| {
            let looked = first_unsettled(store, id, last).and_then(|left| {
                let Some(left) = left else {
                    return Ok(true);
                };
                self.meanwhile.note(told(&left));
                if called.is_another_due() {
                    // One that finds another at work ends at once; only the lock tells that.
                    called.note(self.start_performer(id)?);
                }
                Ok(self.meanwhile.is_over())
            });
            looked.unwrap_or_else(|error| {
                failure = Some(error);
                true
            })
        });
        match failure {
            Some(error) => Err(error),
            // What is due later has to have somebody who waits for it.
            None => self.leave_to_performer(store, id),
        }
    }

    /// Starts a performer for what was just planned, so that it is at work while this process goes
    /// on.
    pub(crate) fn call_performer(
        &self,
        store: &Store,
        id: &TaskId,
        waiting: Waiting,
    ) -> Result<Called, DriverError> {
        let mut called = Called::none();
        let is_apart = matches!(waiting, Waiting::Detached(_));
        if is_apart && store.pending(id)?.iter().any(is_waiting) {
            if self.is_supervised() {
                return Ok(Called::awaited());
            }
            called.note(self.start_performer(id)?);
        }
        Ok(called)
    }

    fn start_performer(&self, task: &TaskId) -> Result<ProcessIdentity, DriverError> {
        self.start_in_background(&["perform", task.as_str()])
    }

    /// Starts `orange` to work for tasks: code of theirs that it runs is not the user.
    pub(crate) fn start_in_background(
        &self,
        words: &[&str],
    ) -> Result<ProcessIdentity, DriverError> {
        let mut variables = self.person_variables()?;
        variables.insert(ORANGE_BACKGROUND.into(), self.home.path().into());
        self.start_with(variables, words)
    }

    /// Starts `orange` outside every agent's process tree, with a scrubbed environment.
    pub(crate) fn start_apart(&self, words: &[&str]) -> Result<ProcessIdentity, DriverError> {
        self.start_with(self.person_variables()?, words)
    }

    fn start_with(
        &self,
        mut variables: BTreeMap<OsString, OsString>,
        words: &[&str],
    ) -> Result<ProcessIdentity, DriverError> {
        variables.insert(ORANGE_HOME.into(), self.home.path().into());
        let apart = Invocation::new(&self.orange, variables)
            .arguments(words)
            .directory("/");
        let pid = detached(&self.orange, &apart)?;
        // One that has ended meanwhile is no less started.
        Ok(ProcessIdentity::of(pid).unwrap_or(ProcessIdentity {
            pid,
            start: None,
            boot: None,
        }))
    }

    /// Makes sure that somebody performs what is left when this process ends.
    pub(crate) fn leave_to_performer(&self, store: &Store, id: &TaskId) -> Result<(), DriverError> {
        if store.pending(id)?.iter().any(is_waiting) && !self.is_supervised() {
            self.start_performer(id)?;
        }
        Ok(())
    }

    /// Keeps the variables that the person has now for the supervisor, who performs with them from
    /// the moment of the commit on.
    pub(crate) fn keep_for_supervisor(&self) -> Result<(), DriverError> {
        if self.is_supervised() {
            self.person_variables()?;
        }
        Ok(())
    }
}

/// The process that was started last to do something, and when it is time for another.
#[derive(Debug)]
pub(crate) struct Called {
    process: Option<ProcessIdentity>,
    /// Another one is started then, whatever became of this one.
    at_last: Option<Deadline>,
    /// Another one is started from then on, if this one is gone.
    at_first: Option<Deadline>,
    pause: Duration,
}

impl Called {
    pub(crate) fn none() -> Called {
        Called {
            process: None,
            at_last: None,
            at_first: None,
            pause: SHORTEST_PAUSE,
        }
    }

    /// Somebody who was not started from here should be at it soon.
    fn awaited() -> Called {
        Called {
            at_last: Some(Deadline::after(UNTOUCHED)),
            at_first: Some(Deadline::after(UNTOUCHED)),
            ..Called::none()
        }
    }

    pub(crate) fn note(&mut self, started: ProcessIdentity) {
        self.process = Some(started);
        self.at_first = Some(Deadline::after(self.pause));
        self.at_last = Some(Deadline::after(UNTOUCHED));
        self.pause = UNTOUCHED.min(self.pause * 2);
    }

    fn is_nobody(&self) -> bool {
        self.process.is_none()
    }

    /// Whether it has ended, killed perhaps; one that found another at work has ended too.
    fn is_gone(&self) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|process| process.life() == Life::Gone)
    }

    pub(crate) fn is_another_due(&self) -> bool {
        let passed = |deadline: Option<Deadline>| deadline.is_none_or(Deadline::has_passed);
        passed(self.at_last) || passed(self.at_first) && self.is_gone()
    }
}

/// Whether nothing is left to wait for of what was planned up to this version.
fn is_settled(store: &Store, id: &TaskId, last: u64) -> Result<bool, DriverError> {
    Ok(first_unsettled(store, id, last)?.is_none())
}

/// What is waited for first of what was planned up to this version.
fn first_unsettled(store: &Store, id: &TaskId, last: u64) -> Result<Option<Pending>, DriverError> {
    let now = clock::now();
    for pending in store.pending(id)? {
        if pending.planned.id.0 <= last && is_awaited(store, &pending, now)? {
            return Ok(Some(pending));
        }
    }
    Ok(None)
}

/// What is being done, for who looks on.
fn told(pending: &Pending) -> String {
    let (task, effect) = (&pending.task, pending.planned.effect.label());
    match pending.attempts {
        0 => format!("{task}: {effect}"),
        1 => format!("{task}: {effect}, failed once"),
        times => format!("{task}: {effect}, failed {times} times"),
    }
}
