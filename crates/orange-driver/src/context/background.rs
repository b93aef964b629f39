//! Starts this program again, detached from the calling process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_config::{ORANGE_BACKGROUND, ORANGE_CALLER, ORANGE_HOME};
use orange_effects::command::{Invocation, start_detached};
use orange_effects::process::{Liveness, ProcessIdentity};
use orange_engine::names::TaskId;
use orange_store::{Store, StoreError};

use crate::DriverError;
use crate::context::Context;
use crate::due::is_waiting;

/// How long a process that has handed over its work may take to end.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long effects may wait before another performer is started.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// The first pause before a performer that has ended is replaced.
const MIN_PAUSE: Duration = Duration::from_millis(50);

impl Context {
    pub(crate) fn start_performer(&self, task: &TaskId) -> Result<ProcessIdentity, DriverError> {
        self.start_in_background(&["perform", task.as_str()])
    }

    /// Starts a performer that begins when this process has exited.
    pub(crate) fn start_successor(&self, task: &TaskId) -> Result<ProcessIdentity, DriverError> {
        let own = std::process::id().to_string();
        self.start_in_background(&["perform", task.as_str(), "--after", &own])
    }

    /// Starts `orange` to work for tasks. Marks the process, so that the code of tasks that it runs
    /// does not count as the user.
    pub(crate) fn start_in_background(
        &self,
        words: &[&str],
    ) -> Result<ProcessIdentity, DriverError> {
        let mut variables = self.user_variables()?;
        variables.insert(ORANGE_BACKGROUND.into(), self.home.path().into());
        self.start_with(variables, words)
    }

    /// Starts `orange` outside every agent's process tree, with a scrubbed environment.
    pub(crate) fn start_detached(&self, words: &[&str]) -> Result<ProcessIdentity, DriverError> {
        self.start_with(self.user_variables()?, words)
    }

    fn start_with(
        &self,
        mut variables: BTreeMap<OsString, OsString>,
        words: &[&str],
    ) -> Result<ProcessIdentity, DriverError> {
        variables.insert(ORANGE_HOME.into(), self.home.path().into());
        // Do not pass the token on for an agent: the agent could send it to a server of its own.
        let is_for_agent = self.environment.variable(ORANGE_CALLER).is_some();
        if is_for_agent || self.is_called_by_agent() {
            variables.insert(ORANGE_CALLER.into(), "agent".into());
        } else {
            variables.extend(self.environment.forge_variables());
        }
        let command = Invocation::new(&self.orange, variables)
            .arguments(words)
            .directory("/");
        let pid = start_detached(&self.orange, &command)?;
        // The lookup fails for a process that has exited already, which is no error here.
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

    /// Starts processes that perform the due effects once this process has ended. A supervising
    /// process needs this when it ends, because other processes leave effects to the supervisor.
    pub fn hand_over(&self) -> Result<(), DriverError> {
        let store = match Store::open_read_only(&self.home) {
            Err(StoreError::Missing { .. }) => return Ok(()),
            opened => opened?,
        };
        let own = std::process::id();
        let is_other = |process: ProcessIdentity| process.pid != own;
        if self.is_supervised() && self.supervisor_process().is_some_and(is_other) {
            return Ok(());
        }
        let due = store.due_effects(clock::now())?;
        let tasks: BTreeSet<TaskId> = due.into_iter().map(|it| it.task).collect();
        for task in tasks {
            self.start_successor(&task)?;
        }
        Ok(())
    }

    /// Waits until a process has ended, but not for long.
    pub fn await_end_of(pid: u32) {
        if let Ok(process) = ProcessIdentity::of(pid) {
            let is_gone = || process.liveness() == Liveness::Gone;
            Deadline::after(HANDOVER_TIMEOUT).wait_for(is_gone);
        }
    }

    /// Saves the user's current variables for the supervisor, which performs the effects of the
    /// next commit with them.
    pub(crate) fn save_variables(&self) -> Result<(), DriverError> {
        if self.is_supervised() {
            self.user_variables()?;
        }
        Ok(())
    }
}

/// The process that was started last for a job, and when to start another.
#[derive(Debug)]
pub(crate) struct StartedProcess {
    process: Option<ProcessIdentity>,
    /// From this time, another process is due even if this one still runs.
    restart_at: Option<Deadline>,
    /// From this time, another process is due if this one is gone.
    restart_if_gone_at: Option<Deadline>,
    pause: Duration,
    /// When the caller stops waiting, if it has begun to wait already.
    wait_until: Option<Deadline>,
}

impl StartedProcess {
    pub(crate) fn none() -> StartedProcess {
        StartedProcess {
            process: None,
            restart_at: None,
            restart_if_gone_at: None,
            pause: MIN_PAUSE,
            wait_until: None,
        }
    }

    /// For a job that another process, such as the supervisor, is expected to begin soon.
    pub(crate) fn started_elsewhere() -> StartedProcess {
        StartedProcess {
            restart_at: Some(Deadline::after(RESTART_AFTER)),
            restart_if_gone_at: Some(Deadline::after(RESTART_AFTER)),
            ..StartedProcess::none()
        }
    }

    pub(crate) fn note(&mut self, started: ProcessIdentity) {
        self.process = Some(started);
        self.restart_if_gone_at = Some(Deadline::after(self.pause));
        self.restart_at = Some(Deadline::after(RESTART_AFTER));
        self.pause = RESTART_AFTER.min(self.pause * 2);
    }

    /// Begins the caller's wait.
    pub(crate) fn wait_until(&mut self, deadline: Deadline) -> Deadline {
        self.wait_until = Some(deadline);
        deadline
    }

    /// When the caller stops waiting, if it waits this long.
    pub(crate) fn deadline(&self, bound: Duration) -> Deadline {
        self.wait_until.unwrap_or_else(|| Deadline::after(bound))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.process.is_none()
    }

    /// Whether the process has exited, for example because it was killed or found another one at
    /// work.
    fn is_gone(&self) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|process| process.liveness() == Liveness::Gone)
    }

    pub(crate) fn is_another_due(&self) -> bool {
        let passed = |deadline: Option<Deadline>| deadline.is_none_or(Deadline::has_passed);
        passed(self.restart_at) || passed(self.restart_if_gone_at) && self.is_gone()
    }
}
