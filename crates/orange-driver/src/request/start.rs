//! Creates a task, and then starts its work.

use std::collections::BTreeSet;

use orange_config::{Project, SandboxMode};
use orange_effects::sandbox::Level;
use orange_engine::event::{Event, Fact};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Kind, Trigger};
use orange_engine::names::{HarnessName, Status, TaskId};
use orange_engine::refusal::Blocker;
use orange_engine::role::Role;
use orange_engine::schedule::Wait;
use orange_engine::{Refusal, Workflow};
use orange_store::Store;

use super::answer::{Answer, ChangeReport};
use super::ask::TaskRequest;
use super::registration::Registration;
use super::wait::WaitPolicy;
use crate::DriverError;
use crate::context::background::StartedProcess;
use crate::request::Requests;
use crate::schedule::spawn;
use crate::steps::create::{CreateResult, NewTaskRequest, NewTaskResult};
use crate::steps::pinned_workflow;

/// The result of creating a task.
#[derive(Debug)]
pub struct CreatedTask {
    /// The answer to the creation; it includes the events of leaving each queue.
    pub created: Answer,
    /// The project, if it was registered for this task.
    pub registered: Option<Registration>,
    /// The result of the task's start.
    pub start: Start,
}

/// The result of starting a task.
#[derive(Debug)]
pub enum Start {
    /// There is nothing to start, or no start was requested.
    NotRequested,
    /// Only the user may start the task, and an agent created it.
    UserOnly,
    /// Something holds the task back; it starts automatically once nothing does.
    Waits(Vec<Wait>),
    /// The start was requested; the task exists whatever the result.
    Requested(Result<Answer, DriverError>),
}

impl Start {
    /// Whether the start is complete and nothing has failed, so that the next queue can be left
    /// too.
    fn has_succeeded(&self) -> bool {
        matches!(self, Start::Requested(Ok(Answer::Done(changed))) if changed.failed_effects.is_empty())
    }
}

impl Requests {
    /// Fails if a harness does not exist or cannot be read.
    pub fn require_harnesses(
        &self,
        names: impl IntoIterator<Item = HarnessName>,
    ) -> Result<(), DriverError> {
        let harnesses = self.context.harnesses()?;
        for name in names {
            harnesses.require(&name)?;
        }
        Ok(())
    }

    /// Fails if no agent of this project could start, because this machine can make no sandbox and
    /// the user did not turn it off.
    pub fn require_sandbox(&self, project: Option<&Project>) -> Result<(), DriverError> {
        self.context.choose_sandbox(project).map(|_| ())
    }

    /// Whether a project may want a sandbox that this machine cannot make.
    pub fn may_lack_sandbox(&self) -> Result<bool, DriverError> {
        let is_wanted = |project: Option<&Project>| {
            let settings = self.context.settings(project);
            settings.map_or(true, |it| it.sandbox.mode != SandboxMode::Off)
        };
        let is_wanted = is_wanted(None) || {
            let projects = self.context.projects()?.projects;
            projects.iter().any(|project| is_wanted(Some(project)))
        };
        Ok(is_wanted && self.context.capabilities().level != Level::Full)
    }

    /// Creates a task and performs the effects of its initial status.
    pub fn create(&self, new: &NewTaskRequest, waiting: WaitPolicy) -> Result<Answer, DriverError> {
        Ok(self.create_registering(new, waiting)?.0)
    }

    /// Like `create`; also returns the project, if it was registered for this task.
    fn create_registering(
        &self,
        new: &NewTaskRequest,
        waiting: WaitPolicy,
    ) -> Result<(Answer, Option<Project>), DriverError> {
        let NewTaskResult {
            mut store,
            registered,
            created,
        } = self.steps.create(new)?;
        let answer = match created {
            CreateResult::Refused(refusal) => Answer::Refused(refusal),
            CreateResult::Recorded(recorded) => {
                let (task, copies) = (recorded.task, recorded.copies);
                let performer = StartedProcess::none();
                let answer = self.settle(&mut store, &task, recorded.events, waiting, performer)?;
                self.answer_with_copies(&mut store, &task, answer, &copies)
            }
        };
        Ok((answer, registered))
    }

    /// Creates a task and, in a separate step, requests the start of its work if it waits in a
    /// queue. A process killed in between leaves a task that can be started.
    pub fn create_and_start(
        &self,
        new: &NewTaskRequest,
        starts: bool,
        waiting: WaitPolicy,
    ) -> Result<CreatedTask, DriverError> {
        let mut new = new.clone();
        new.queueing.starts_automatically = starts;
        let (created, registered) = self.create_registering(&new, waiting)?;
        let registered = match &created {
            Answer::Done(changed) | Answer::StillRunning(changed) => {
                registered.map(|project| self.registration(project, &changed.task))
            }
            Answer::AlreadyDone(_) | Answer::Refused(_) => None,
        };
        let (created, start) = match &created {
            Answer::Done(changed) | Answer::StillRunning(changed) if starts => {
                let task = changed.task.id.clone();
                // A task that an agent creates is started with the engine's role, if its workflow
                // allows that.
                let by = match new.by {
                    Role::Human => Role::Human,
                    _ => Role::Engine,
                };
                self.leave_queues(&task, created, by, waiting)?
            }
            _ => (created, Start::NotRequested),
        };
        Ok(CreatedTask {
            created,
            registered,
            start,
        })
    }

    /// Performs the start of a task that was created and started without waiting.
    pub(crate) fn await_start(
        &self,
        task: CreatedTask,
        waiting: WaitPolicy,
    ) -> Result<CreatedTask, DriverError> {
        let created = match task.created {
            Answer::StillRunning(changed) => self.settle_recorded(*changed, waiting)?,
            created => created,
        };
        let started = match task.start {
            Start::Requested(Ok(Answer::StillRunning(changed))) => {
                self.settle_recorded(*changed, waiting)
            }
            start => {
                return Ok(CreatedTask {
                    created,
                    start,
                    ..task
                });
            }
        };
        let (created, start) = match started {
            Err(error) => (created, Start::Requested(Err(error))),
            Ok(started) => match self.continue_start(started, waiting)? {
                (started, Start::NotRequested) => (created, Start::Requested(Ok(started))),
                (started, next) => (created.followed_by(started), next),
            },
        };
        Ok(CreatedTask {
            created,
            start,
            ..task
        })
    }

    /// Has the effects of a recorded change performed, and waits for them.
    fn settle_recorded(
        &self,
        change: ChangeReport,
        waiting: WaitPolicy,
    ) -> Result<Answer, DriverError> {
        let mut store = self.context.store()?;
        let id = &change.task.id;
        let performer = self.call_performer(&store, id, waiting)?;
        self.settle(&mut store, id, change.events, waiting, performer)
    }

    /// After a successful `spawn` that led into another queue, leaves that queue too, with the
    /// engine's role.
    pub fn continue_start(
        &self,
        answer: Answer,
        waiting: WaitPolicy,
    ) -> Result<(Answer, Start), DriverError> {
        let task = match &answer {
            Answer::Done(changed) if changed.failed_effects.is_empty() => changed.task.id.clone(),
            _ => return Ok((answer, Start::NotRequested)),
        };
        self.leave_queues(&task, answer, Role::Engine, waiting)
    }

    /// Leaves the task's current queue, and the following ones with the engine's role. A queue that
    /// the task returns to is not left again, because the return means that its start failed.
    fn leave_queues(
        &self,
        task: &TaskId,
        mut before: Answer,
        mut by: Role,
        waiting: WaitPolicy,
    ) -> Result<(Answer, Start), DriverError> {
        let mut start = Start::NotRequested;
        let mut left_queues = BTreeSet::new();
        while let Some(queue) = self.queue_of(task)? {
            let is_first = left_queues.is_empty();
            if !left_queues.insert(queue) {
                break;
            }
            let next = self.leave_queue(task, by, waiting)?;
            let is_refused = matches!(
                next,
                Start::UserOnly | Start::Requested(Ok(Answer::Refused(_)))
            );
            if is_refused && !is_first {
                break;
            }
            if let Start::Requested(Ok(answer)) = std::mem::replace(&mut start, next) {
                before = before.followed_by(answer);
            }
            if !start.has_succeeded() {
                break;
            }
            by = Role::Engine;
        }
        // A supervisor may have started the task before the first check.
        if left_queues.is_empty() && self.has_left_initial_status(task)? {
            start = self.earlier_start(task, waiting)?;
        }
        Ok((before, start))
    }

    fn leave_queue(
        &self,
        task: &TaskId,
        by: Role,
        waiting: WaitPolicy,
    ) -> Result<Start, DriverError> {
        let entered = self.context.store()?.require(task)?.task.entered.version;
        let is_user = by == Role::Human;
        let request = self.ask(&TaskRequest {
            task: task.clone(),
            request: spawn(by),
            waiting,
        });
        let refusal = match request {
            Ok(Answer::Refused(refusal)) => refusal,
            Ok(Answer::AlreadyDone(_)) => return self.earlier_start(task, waiting),
            request => return Ok(Start::Requested(request)),
        };
        let mut waits = waits(&refusal);
        // The supervisor was first, and goes on when the effects of this queue are done.
        if self.context.is_supervised() && refusal.missing == [Blocker::EffectsRunning] {
            waits.push(Wait::EffectsRunning);
        }
        if !waits.is_empty() {
            return Ok(Start::Waits(waits));
        }
        if self.context.store()?.require(task)?.task.entered.version != entered {
            return self.earlier_start(task, waiting);
        }
        let is_not_allowed = |it: &Blocker| matches!(it, Blocker::NotAllowed { .. });
        if !is_user && refusal.missing.iter().any(is_not_allowed) {
            return Ok(Start::UserOnly);
        }
        Ok(Start::Requested(Ok(Answer::Refused(refusal))))
    }

    /// The result of a start that a supervisor requested first.
    fn earlier_start(&self, task: &TaskId, waiting: WaitPolicy) -> Result<Start, DriverError> {
        let mut store = self.context.store()?;
        let workflow = pinned_workflow(&store.require(task)?)?;
        let events = last_start(&store, task, &workflow)?;
        if events.is_empty() {
            return Ok(Start::NotRequested);
        }
        let answer = self.settle(&mut store, task, events, waiting, StartedProcess::none());
        Ok(Start::Requested(answer))
    }

    fn has_left_initial_status(&self, task: &TaskId) -> Result<bool, DriverError> {
        Ok(self
            .context
            .store()?
            .require(task)?
            .task
            .entered
            .from
            .is_some())
    }

    /// The queue that a task waits in, if the verb `spawn` leads out of it.
    fn queue_of(&self, task: &TaskId) -> Result<Option<Status>, DriverError> {
        let stored = self.context.store()?.require(task)?;
        let workflow = pinned_workflow(&stored)?;
        let targets = workflow.verbs.get(&Verb::Spawn);
        let can_be_left = targets.is_some_and(|targets| !targets.is_empty());
        let status = stored.task.status;
        Ok((can_be_left && is_queue(&workflow, &status)).then_some(status))
    }
}

fn is_queue(workflow: &Workflow, status: &Status) -> bool {
    let state = workflow.state(status);
    state.is_some_and(|state| state.kind == Kind::Queued)
}

fn waits(refusal: &Refusal) -> Vec<Wait> {
    let waits = refusal.missing.iter().filter_map(|missing| match missing {
        Blocker::HeldBack { wait } => Some(wait.clone()),
        _ => None,
    });
    waits.collect()
}

/// The latest requested status change out of a queue, with the effects that it planned.
fn last_start(
    store: &Store,
    task: &TaskId,
    workflow: &Workflow,
) -> Result<Vec<Event>, DriverError> {
    let recorded = store.events(task, 0)?.into_iter();
    let events: Vec<Event> = recorded.map(|recorded| recorded.event).collect();
    let is_start = |event: &Event| match &event.fact {
        Fact::StatusChanged(changed) => {
            changed.trigger == Trigger::Request && is_queue(workflow, &changed.from)
        }
        _ => false,
    };
    let Some(first) = events.iter().rposition(is_start) else {
        return Ok(Vec::new());
    };
    let plan_id = events[first].version;
    let is_planned = |event: &Event| match &event.fact {
        Fact::EffectPlanned(planned) => planned.plan == plan_id,
        _ => event.version == plan_id,
    };
    Ok(events.into_iter().filter(is_planned).collect())
}
