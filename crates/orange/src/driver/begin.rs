//! A new task, and then the start of its work.

use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use orange_engine::refusal::Missing;
use orange_engine::role::Role;
use orange_engine::schedule::Wait;

use super::answer::Answer;
use super::ask::Asked;
use super::create::NewWork;
use super::schedule::spawn;
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
    /// Something keeps it back; it happens by itself once that is gone.
    Waits(Vec<Wait>),
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
        let mut new = new.clone();
        new.queueing.starts_itself = starts;
        let (created, registered) = self.create_registering(&new, waiting)?;
        let start = match &created {
            Answer::Done(changed) | Answer::StillRunning(changed) if starts => {
                self.begin_work(&changed.task.id, &new.by, waiting)?
            }
            _ => Start::NotWanted,
        };
        Ok(Begun {
            created,
            registered,
            start,
        })
    }

    /// What an agent creates is started as the engine would, if its workflow allows that.
    fn begin_work(&self, task: &TaskId, by: &Role, waiting: Waiting) -> Result<Start, DriverError> {
        if !self.can_be_started(task)? {
            return Ok(Start::NotWanted);
        }
        let by = match by {
            Role::Human => Role::Human,
            _ => Role::Engine,
        };
        let is_person = by == Role::Human;
        let asked = self.ask(&Asked {
            task: task.clone(),
            request: spawn(by),
            waiting,
        });
        let refusal = match asked {
            Ok(Answer::Refused(refusal)) => refusal,
            asked => return Ok(Start::Asked(asked)),
        };
        let waits = refusal.missing.iter().filter_map(|missing| match missing {
            Missing::HeldBack { wait } => Some(wait.clone()),
            _ => None,
        });
        let waits: Vec<Wait> = waits.collect();
        if !waits.is_empty() {
            return Ok(Start::Waits(waits));
        }
        // A supervisor may have been faster, and the next queue may start by itself too.
        if !self.can_be_started(task)? || self.has_left(task)? {
            return Ok(Start::NotWanted);
        }
        let is_barred = |it: &Missing| matches!(it, Missing::NotAllowed { .. });
        if !is_person && refusal.missing.iter().any(is_barred) {
            return Ok(Start::ForAPerson);
        }
        Ok(Start::Asked(Ok(Answer::Refused(refusal))))
    }

    /// Whether a task is not where it began any more.
    fn has_left(&self, task: &TaskId) -> Result<bool, DriverError> {
        Ok(self.store()?.require(task)?.task.entered.from.is_some())
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
