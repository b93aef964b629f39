//! Gets what was planned performed, and waits for it, within bounds.

use std::time::Duration;

use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use super::answer::{Answer, Changed};
use super::due::{is_awaited, is_waiting};
use super::{Driver, DriverError};
use crate::clock::{self, Deadline};
use crate::config::ORANGE_HOME;
use crate::effects::command::{Invocation, detached};
use crate::store::{PendingMark, Store};

/// How long effects may lie untouched before another performer is started.
const UNTOUCHED: Duration = Duration::from_secs(1);

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
    pub(super) fn settle(
        &self,
        store: &mut Store,
        id: &TaskId,
        events: Vec<Event>,
        waiting: Waiting,
    ) -> Result<Answer, DriverError> {
        let last = match events.last() {
            Some(event) => event.version,
            None => store.require(id)?.task.version,
        };
        match waiting {
            Waiting::Here => {
                self.perform(id)?;
            }
            Waiting::Detached(bound) => self.wait(store, id, last, Deadline::after(bound))?,
            Waiting::Not => {}
        }
        let task = store.require(id)?.task;
        let changed = Box::new(Changed { task, events });
        Ok(if is_settled(store, id, last)? {
            Answer::Done(changed)
        } else {
            Answer::StillRunning(changed)
        })
    }

    fn wait(
        &self,
        store: &Store,
        id: &TaskId,
        last: u64,
        deadline: Deadline,
    ) -> Result<(), DriverError> {
        let mut again: Option<Deadline> = None;
        let mut failure = None;
        deadline.wait_for(|| {
            let looked = is_settled(store, id, last).and_then(|settled| {
                if !settled && again.is_none_or(Deadline::has_passed) {
                    again = Some(Deadline::after(UNTOUCHED));
                    self.start_performer_if_idle(store, id)?;
                }
                Ok(settled)
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

    /// Starts a performer, unless one is seen at work.
    fn start_performer_if_idle(&self, store: &Store, id: &TaskId) -> Result<(), DriverError> {
        let pending = store.pending(id)?;
        let is_recent = |at: Timestamp| clock::now().seconds_since(at) < 1;
        let at_work = pending
            .iter()
            .any(|it| matches!(it.mark, PendingMark::Started { at, .. } if is_recent(at)));
        if at_work {
            return Ok(());
        }
        self.start_performer(id)
    }

    /// Starts `orange perform` outside every agent's process tree, with a scrubbed environment.
    pub fn start_performer(&self, task: &TaskId) -> Result<(), DriverError> {
        let harnesses = self.harnesses()?;
        let passed = harnesses.all().iter();
        let passed = passed.filter_map(|(_, harness)| harness.as_ref().ok());
        let passed = passed.flat_map(|harness| harness.pass.iter().map(String::as_str));
        let mut variables = self.environment.passed(passed);
        variables.insert(ORANGE_HOME.into(), self.home.path().into());
        let perform = Invocation::new(&self.orange, variables)
            .arguments(["perform", task.as_str()])
            .directory("/");
        detached(&self.orange, &perform)?;
        Ok(())
    }

    /// Makes sure that somebody performs what is left when this process ends.
    pub(super) fn leave_to_performer(&self, store: &Store, id: &TaskId) -> Result<(), DriverError> {
        if store.pending(id)?.iter().any(is_waiting) {
            self.start_performer(id)?;
        }
        Ok(())
    }
}

/// Whether nothing is left to wait for of what was planned up to this version.
fn is_settled(store: &Store, id: &TaskId, last: u64) -> Result<bool, DriverError> {
    let now = clock::now();
    for pending in store.pending(id)? {
        if pending.planned.id.0 <= last && is_awaited(store, &pending, now)? {
            return Ok(false);
        }
    }
    Ok(true)
}
