//! A new task, and then the start of its work.

use orange_engine::input::{Ask, Request};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::answer::Answer;
use super::ask::Asked;
use super::create::NewWork;
use super::step::pinned;
use super::wait::Waiting;
use super::{Driver, DriverError};
use crate::config::Project;

/// What came of a new task.
#[derive(Debug)]
pub struct Begun {
    /// What creating it came to.
    pub created: Answer,
    /// The project, if it was registered for this.
    pub registered: Option<Project>,
    /// What came of the start.
    pub start: Start,
}

/// What came of the start of a new task.
#[derive(Debug)]
pub enum Start {
    /// There is nothing to start, or nobody wanted it.
    NotWanted,
    /// Only a person may ask for it, and an agent created the task.
    ForAPerson,
    /// It was asked for; the task is there whatever came of it.
    Asked(Result<Answer, DriverError>),
}

impl Driver {
    /// Begins a task and, in a step of its own, asks for the start of the work if the task waits
    /// in a queue. Whoever is killed in between leaves a task that can be started.
    pub fn begin(
        &self,
        new: &NewWork,
        starts: bool,
        waiting: Waiting,
    ) -> Result<Begun, DriverError> {
        let (created, registered) = self.create_registering(new, waiting)?;
        let start = match &created {
            Answer::Done(changed) | Answer::StillRunning(changed)
                if starts && self.can_be_started(&changed.task.id)? =>
            {
                if new.by == Role::Human {
                    Start::Asked(self.ask(&spawn(&changed.task.id, waiting)))
                } else {
                    Start::ForAPerson
                }
            }
            _ => Start::NotWanted,
        };
        Ok(Begun {
            created,
            registered,
            start,
        })
    }

    /// Whether a task waits in a queue that the verb `spawn` leads out of.
    fn can_be_started(&self, task: &TaskId) -> Result<bool, DriverError> {
        let stored = self.store()?.require(task)?;
        let workflow = pinned(&stored)?;
        let state = workflow.state(&stored.task.status);
        let is_queued = state.is_some_and(|state| state.kind == Kind::Queued);
        let targets = workflow.verbs.get(&Verb::Spawn);
        Ok(is_queued && targets.is_some_and(|targets| !targets.is_empty()))
    }
}

fn spawn(task: &TaskId, waiting: Waiting) -> Asked {
    Asked {
        task: task.clone(),
        request: Request {
            by: Role::Human,
            ask: Ask::Verb(Verb::Spawn),
            confirmed: false,
            message: None,
        },
        waiting,
    }
}
