//! Starts this program again, detached from the calling process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{ORANGE_BACKGROUND, ORANGE_HOME};
use orange_effects::command::{Invocation, detached};
use orange_effects::process::{Life, ProcessIdentity};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::context::Context;
use crate::due::is_waiting;

/// How long effects may wait before another performer is started.
const UNTOUCHED: Duration = Duration::from_secs(1);

/// The first pause before a performer that has ended is replaced.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

impl Context {
    pub(crate) fn start_performer(&self, task: &TaskId) -> Result<ProcessIdentity, DriverError> {
        self.start_in_background(&["perform", task.as_str()])
    }

    /// Starts `orange` to work for tasks: task code that it runs does not count as the user.
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
        // A process that has exited meanwhile was started nevertheless.
        Ok(ProcessIdentity::of(pid).unwrap_or(ProcessIdentity {
            pid,
            start: None,
            boot: None,
        }))
    }

    /// Makes sure that a performer or the supervisor performs what is left when this process exits.
    pub(crate) fn leave_to_performer(&self, store: &Store, id: &TaskId) -> Result<(), DriverError> {
        if store.pending(id)?.iter().any(is_waiting) && !self.is_supervised() {
            self.start_performer(id)?;
        }
        Ok(())
    }

    /// Saves the user's current variables for the supervisor, which performs with them from the
    /// commit on.
    pub(crate) fn keep_for_supervisor(&self) -> Result<(), DriverError> {
        if self.is_supervised() {
            self.person_variables()?;
        }
        Ok(())
    }
}

/// The process that was started last for a job, and when to start another.
#[derive(Debug)]
pub(crate) struct Called {
    process: Option<ProcessIdentity>,
    /// Then another one is started, whatever happened to this one.
    at_last: Option<Deadline>,
    /// From then on another one is started if this one is gone.
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

    /// Expects a process that was not started from here to do it soon.
    pub(crate) fn awaited() -> Called {
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

    pub(crate) fn is_nobody(&self) -> bool {
        self.process.is_none()
    }

    /// Whether it has exited, perhaps killed; one that found another at work has exited too.
    fn is_gone(&self) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|process| process.life() == Life::Gone)
    }

    pub(crate) fn is_another_due(&self) -> bool {
        let passed = |deadline: Option<Deadline>| deadline.is_none_or(Deadline::has_passed);
        passed(self.at_last) || passed(self.at_first) && self.is_gone()
    }
}
