//! Handles a request: observe, import, decide, record, perform.

use orange_effects::git::require_branch;
use orange_engine::Task;
use orange_engine::document::Document;
use orange_engine::effect::Effect;
use orange_engine::input::{Cause, Observation, Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::{address_caller_in_worktree, vouches_for_document};
use orange_store::Store;

use super::answer::Answer;
use super::wait::WaitPolicy;
use crate::DriverError;
use crate::context::background::StartedProcess;
use crate::request::Requests;
use crate::steps::create::refuse_nul;
use crate::steps::{StepResult, pinned_workflow};

/// A request to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    pub task: TaskId,
    /// The request, with the role that asks.
    pub request: Request,
    /// Which process performs the effects, and how long to wait for them.
    pub waiting: WaitPolicy,
}

impl Requests {
    /// Handles a request: records the result and performs the planned effects.
    pub fn ask(&self, request: &TaskRequest) -> Result<Answer, DriverError> {
        self.ask_in(&mut self.context.store()?, request)
    }

    /// Handles a request with the role of the process that calls this one.
    pub fn ask_as_caller(
        &self,
        task: &TaskId,
        request: impl FnOnce(Role) -> Request,
        waiting: WaitPolicy,
    ) -> Result<Answer, DriverError> {
        let mut store = self.context.store()?;
        let caller = self.callers.identify_with_assistant(&store, task)?;
        let is_assistant = caller.is_assistant();
        let request = request(caller.role);
        if is_assistant && !matches!(request.kind, RequestKind::Tell { .. }) {
            return Err(DriverError::user_only("change a task"));
        }
        let task_request = TaskRequest {
            task: task.clone(),
            request,
            waiting,
        };
        let mut answer = self.ask_in(&mut store, &task_request)?;
        if let Answer::Refused(refusal) = &mut answer
            && caller.is_by_directory
        {
            address_caller_in_worktree(refusal);
        }
        Ok(answer)
    }

    fn ask_in(&self, store: &mut Store, request: &TaskRequest) -> Result<Answer, DriverError> {
        refuse_nul("message", request.request.message.as_ref())?;
        if let RequestKind::Amend {
            summary, branch, ..
        } = &request.request.kind
        {
            refuse_nul("summary", summary.as_ref())?;
            branch.as_ref().map_or(Ok(()), require_branch)?;
        }
        let id = &request.task;
        let task = store.require(id)?.task;
        if task.is_deleted {
            return Err(DriverError::TaskDeleted { task: id.clone() });
        }
        let request = &TaskRequest {
            request: self.with_strategy(&task, &request.request)?,
            ..request.clone()
        };
        self.context.save_variables()?;
        if !is_urgent(&request.request.kind) {
            self.agents.observe(store, id)?;
            self.steps.notify_of_children(store, id)?;
        }
        if let Some(answer) = self.answer_for_unseen_task(store, request)? {
            return Ok(answer);
        }
        if let Some(answer) = self.answer_for_moved_task(store, &task, request)? {
            return Ok(answer);
        }
        let half_merge = if drops_merge(&task, &request.request.kind) {
            self.performer.end_abandoned_merge(store, id)?
        } else {
            None
        };
        let document = self.steps.follow_hand_edit(store, id)?;
        let cause = Cause::Request(request.request.clone());
        let renamed = self.workspaces.rename_branch(store, id, &request.request)?;
        let step_result = self.steps.step_from(store, id, &cause, document.clone());
        if let Some(renamed) =
            renamed.filter(|_| !matches!(step_result, Ok(StepResult::Recorded { .. })))
        {
            let undone = self.workspaces.undo_rename(store, id, &renamed);
            self.steps.log_failure(id, undone);
        }
        let step_result = step_result?;
        // A new status clears the notices, so this one comes after it.
        if let (Some(notice), StepResult::Recorded { .. }) = (half_merge, &step_result) {
            self.steps.notice(store, id, notice)?;
        }
        let has_branch = matches!(
            request.request.kind,
            RequestKind::Amend {
                branch: Some(_),
                ..
            }
        );
        if has_branch && !matches!(step_result, StepResult::Refused(_)) {
            self.steps
                .log_failure(id, self.workspaces.complete_rename(store, id));
        }
        if let (StepResult::Refused(_), Some(document)) = (&step_result, document) {
            self.record_import(store, id, &request.request, document)?;
        }
        let performer = match &step_result {
            StepResult::Recorded { .. } => self.call_performer(store, id, request.waiting)?,
            StepResult::Nothing { .. } | StepResult::Refused(_) => StartedProcess::none(),
        };
        // The decision is performed and answered even if the task's files cannot be written.
        let copies = self.steps.sync_files(store, id);
        let answer = self.answer(store, request, step_result, performer)?;
        Ok(self.answer_with_copies(store, id, answer, &copies))
    }

    /// The answer if the task is no longer as the caller saw it: that what it asks for is already
    /// so, or an error. What comes before a decision, such as renaming a branch, is not done.
    fn answer_for_unseen_task(
        &self,
        store: &mut Store,
        request: &TaskRequest,
    ) -> Result<Option<Answer>, DriverError> {
        let id = &request.task;
        let Some(seen) = request.request.if_version else {
            return Ok(None);
        };
        if store.require(id)?.task.version == seen {
            return Ok(None);
        }
        let cause = Cause::Request(request.request.clone());
        let result = self.steps.step(store, id, &cause)?;
        self.answer(store, request, result, StartedProcess::none())
            .map(Some)
    }

    /// The answer to a respawn when the end of the agent, noticed just now, has moved the task on:
    /// the agent that the user asked for belongs to a status that the task has left.
    fn answer_for_moved_task(
        &self,
        store: &mut Store,
        before: &Task,
        request: &TaskRequest,
    ) -> Result<Option<Answer>, DriverError> {
        let id = &request.task;
        let entered = store.require(id)?.task.entered.version;
        let is_respawn = matches!(request.request.kind, RequestKind::Respawn { .. });
        if !is_respawn || entered == before.entered.version {
            return Ok(None);
        }
        let events = store.events(id, before.version)?;
        let events = events.into_iter().map(|it| it.event).collect();
        let performer = self.call_performer(store, id, request.waiting)?;
        let copies = self.steps.sync_files(store, id);
        let answer = self.settle(store, id, events, request.waiting, performer)?;
        Ok(Some(self.answer_with_copies(store, id, answer, &copies)))
    }

    /// The request; a merge without a strategy gets the one from the project's settings.
    fn with_strategy(&self, task: &Task, request: &Request) -> Result<Request, DriverError> {
        let mut request = request.clone();
        let (strategy, local, only_head) = match request.kind {
            RequestKind::Merge {
                strategy,
                local,
                only_head,
            } => (strategy, local, only_head),
            RequestKind::Verb(Verb::Merge) => (None, false, false),
            _ => return Ok(request),
        };
        if strategy.is_none() {
            let projects = self.context.projects()?;
            let settings = self
                .context
                .settings(Some(projects.require(&task.project)?))?;
            request.kind = RequestKind::Merge {
                strategy: Some(settings.merge.strategy),
                local,
                only_head,
            };
        }
        Ok(request)
    }

    /// Performs what a step has planned, and builds the answer.
    fn answer(
        &self,
        store: &mut Store,
        request: &TaskRequest,
        step_result: StepResult,
        performer: StartedProcess,
    ) -> Result<Answer, DriverError> {
        let id = &request.task;
        let events = match step_result {
            StepResult::Refused(refusal) => {
                // Observing may have planned effects, which are performed even if the request was
                // refused.
                match request.waiting {
                    WaitPolicy::Detached(_) | WaitPolicy::Quick(_) => {
                        self.context.leave_to_performer(store, id)?;
                    }
                    WaitPolicy::Here => self.performer.perform(id).map(drop)?,
                    WaitPolicy::Skip => {}
                }
                return Ok(Answer::Refused(refusal));
            }
            StepResult::Nothing { already: true } => {
                let settled = self.settle(store, id, Vec::new(), request.waiting, performer)?;
                return Ok(match settled {
                    Answer::Done(changed) => Answer::AlreadyDone(Box::new(changed.task)),
                    other => other,
                });
            }
            StepResult::Nothing { .. } => Vec::new(),
            StepResult::Recorded { events, .. } => events,
        };
        self.settle(store, id, events, request.waiting, performer)
    }

    /// Records the document that was read for a refused request. The caller counts as its author
    /// even so, unless the document contains a verdict other than the one that the caller asked
    /// for.
    fn record_import(
        &self,
        store: &mut Store,
        id: &TaskId,
        request: &Request,
        document: Document,
    ) -> Result<(), DriverError> {
        let stored = store.require(id)?;
        let workflow = pinned_workflow(&stored)?;
        let is_over = workflow.is_terminal(&stored.task.status);
        let asks_for_change = matches!(
            request.kind,
            RequestKind::Move { .. }
                | RequestKind::Verb(_)
                | RequestKind::Merge { .. }
                | RequestKind::Amend { to: Some(_), .. }
        );
        if is_over
            || !asks_for_change
            || !vouches_for_document(&workflow, &stored.task, &document, &request.kind)
        {
            return Ok(());
        }
        let observation = Cause::Observation(Observation::DocumentRead {
            by: request.by.clone(),
            is_request: asks_for_change,
        });
        match self
            .steps
            .step_from(store, id, &observation, Some(document))
        {
            Ok(_) | Err(DriverError::DocumentUnknown { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether the request is decided without observing the agents first.
fn is_urgent(kind: &RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::Merge { .. } | RequestKind::Verb(Verb::Cancel | Verb::Merge)
    )
}

/// Whether the request, if it is granted, drops a merge that is not finished.
fn drops_merge(task: &Task, kind: &RequestKind) -> bool {
    let mut pending = task.pending.iter();
    let has_merge = pending.any(|it| matches!(it.planned.effect, Effect::Merge(_)));
    let leaves = matches!(
        kind,
        RequestKind::Move { .. } | RequestKind::Verb(_) | RequestKind::Amend { to: Some(_), .. }
    );
    has_merge && leaves
}
