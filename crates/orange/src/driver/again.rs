//! Tries again: by the workflow's verb, else what was given up.

use orange_engine::input::{Ask, Request};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::refusal::Missing;
use orange_engine::{Refusal, Task};

use super::answer::Answer;
use super::wait::Waiting;
use super::{Driver, DriverError};
use crate::store::{Store, TaskFilter};

/// A task that was asked to go on.
#[derive(Debug)]
pub struct Unblocked {
    /// The task as it was.
    pub task: Task,
    /// What came of it.
    pub answer: Result<Answer, DriverError>,
}

impl Driver {
    /// Asks for the verb `retry`; where it leads nowhere, tries again what was given up. Effects that
    /// nothing performs come first: performing them is no step of the workflow.
    pub fn retry(
        &self,
        task: &TaskId,
        message: Option<&String>,
        waiting: Waiting,
    ) -> Result<Answer, DriverError> {
        let request = |ask: Ask| {
            move |by| Request {
                by,
                ask,
                confirmed: false,
                message: message.cloned(),
                head: None,
            }
        };
        if self.is_unperformed(&self.store()?, task)? {
            return self.ask_as_caller(task, request(Ask::RetryEffects), waiting);
        }
        let verb = self.ask_as_caller(task, request(Ask::Verb(Verb::Retry)), waiting)?;
        let Answer::Refused(refusal) = &verb else {
            return Ok(verb);
        };
        if !leads_nowhere(refusal) {
            return Ok(verb);
        }
        self.ask_as_caller(task, request(Ask::RetryEffects), waiting)
    }

    /// Asks every task that the verb `unblock` leads out of its status to go on. One that fails
    /// keeps no other from it.
    pub fn unblock_all(&self, waiting: Waiting) -> Result<Vec<Unblocked>, DriverError> {
        self.require_person("unblock every task")?;
        let listing = Store::open_read_only(&self.home)?.list(&TaskFilter::default())?;
        let mut found = Vec::new();
        for summary in listing.tasks {
            let request = |by| Request {
                by,
                ask: Ask::Verb(Verb::Unblock),
                confirmed: false,
                message: None,
                head: None,
            };
            let task = summary.task;
            let answer = self.ask_as_caller(&task.id, request, waiting);
            let is_blocked = match &answer {
                Ok(Answer::Refused(refusal)) => !leads_nowhere(refusal),
                // It went on before.
                Ok(Answer::Already(_)) => false,
                _ => true,
            };
            if is_blocked {
                found.push(Unblocked { task, answer });
            }
        }
        Ok(found)
    }
}

/// Whether a verb has nothing to do with the status.
fn leads_nowhere(refusal: &Refusal) -> bool {
    let nowhere = |missing: &Missing| {
        matches!(
            missing,
            Missing::VerbUnavailable { .. } | Missing::Terminal { .. }
        )
    };
    refusal.missing.iter().any(nowhere)
}
