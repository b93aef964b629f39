//! Handles a request: observe, import, decide, record, perform.

use orange_effects::git::require_branch;
use orange_engine::document::Document;
use orange_engine::input::{Ask, Cause, Observation, Request};
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::stands_for;
use orange_store::Store;

use super::answer::Answer;
use super::wait::Waiting;
use crate::DriverError;
use crate::context::background::Called;
use crate::request::Requests;
use crate::steps::create::refuse_nul;
use crate::steps::{Stepped, pinned};

/// A request to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub task: TaskId,
    /// The request, with the role that asks.
    pub request: Request,
    /// Which process performs the effects, and how long to wait for them.
    pub waiting: Waiting,
}

impl Requests {
    /// Handles a request: records the result and performs the planned effects.
    pub fn ask(&self, asked: &Asked) -> Result<Answer, DriverError> {
        self.ask_in(&mut self.context.store()?, asked)
    }

    /// Handles a request with the role of the process that calls this one.
    pub fn ask_as_caller(
        &self,
        task: &TaskId,
        request: impl FnOnce(Role) -> Request,
        waiting: Waiting,
    ) -> Result<Answer, DriverError> {
        let mut store = self.context.store()?;
        let asked = Asked {
            task: task.clone(),
            request: request(self.callers.identify_for_in(&store, task)?.role),
            waiting,
        };
        self.ask_in(&mut store, &asked)
    }

    fn ask_in(&self, store: &mut Store, asked: &Asked) -> Result<Answer, DriverError> {
        refuse_nul("message", asked.request.message.as_ref())?;
        if let Ask::Amend {
            summary, branch, ..
        } = &asked.request.ask
        {
            refuse_nul("summary", summary.as_ref())?;
            branch.as_ref().map_or(Ok(()), require_branch)?;
        }
        let id = &asked.task;
        if store.require(id)?.task.is_deleted {
            return Err(DriverError::TaskDeleted { task: id.clone() });
        }
        self.context.keep_for_supervisor()?;
        if !is_urgent(&asked.request.ask) {
            self.agents.observe(store, id)?;
            self.steps.meet_children(store, id)?;
        }
        let read = self.steps.follow_hand_edit(store, id)?;
        let cause = Cause::Request(asked.request.clone());
        let renamed = self.workspaces.rename_branch(store, id, &asked.request)?;
        let stepped = self.steps.step_from(store, id, &cause, read.clone());
        if let Some(renamed) = renamed.filter(|_| !matches!(stepped, Ok(Stepped::Recorded { .. })))
        {
            let undone = self.workspaces.undo_rename(store, id, &renamed);
            self.steps.log_failure(id, undone);
        }
        let stepped = stepped?;
        let has_branch = matches!(
            asked.request.ask,
            Ask::Amend {
                branch: Some(_),
                ..
            }
        );
        if has_branch && !matches!(stepped, Stepped::Refused(_)) {
            self.steps
                .log_failure(id, self.workspaces.rename_session(store, id));
        }
        if let (Stepped::Refused(_), Some(read)) = (&stepped, read) {
            self.note_reading(store, id, &asked.request, read)?;
        }
        let called = match &stepped {
            Stepped::Recorded { .. } => self.call_performer(store, id, asked.waiting)?,
            Stepped::Nothing { .. } | Stepped::Refused(_) => Called::none(),
        };
        // The decision is performed and answered even when its copies cannot be written.
        let copies = self.steps.sync_files(store, id);
        let answer = self.answer(store, asked, stepped, called)?;
        Ok(self.answer_with_copies(store, id, answer, &copies))
    }

    /// Performs what a step has planned, and builds the answer.
    fn answer(
        &self,
        store: &mut Store,
        asked: &Asked,
        stepped: Stepped,
        called: Called,
    ) -> Result<Answer, DriverError> {
        let id = &asked.task;
        let events = match stepped {
            Stepped::Refused(refusal) => {
                // Effects planned by observing are performed even if the request was refused.
                if matches!(asked.waiting, Waiting::Detached(_)) {
                    self.context.leave_to_performer(store, id)?;
                }
                return Ok(Answer::Refused(refusal));
            }
            Stepped::Nothing { already: true } => {
                let settled = self.settle(store, id, Vec::new(), asked.waiting, called)?;
                return Ok(match settled {
                    Answer::Done(changed) => Answer::Already(Box::new(changed.task)),
                    other => other,
                });
            }
            Stepped::Nothing { .. } => Vec::new(),
            Stepped::Recorded { events, .. } => events,
        };
        self.settle(store, id, events, asked.waiting, called)
    }

    /// Records the document that was read for a refused call. The caller is responsible for it all
    /// the same, unless it contains a verdict other than the one the caller asked for.
    fn note_reading(
        &self,
        store: &mut Store,
        id: &TaskId,
        request: &Request,
        read: Document,
    ) -> Result<(), DriverError> {
        let stored = store.require(id)?;
        let workflow = pinned(&stored)?;
        let over = workflow.is_terminal(&stored.task.status);
        let asked = matches!(
            request.ask,
            Ask::Move { .. } | Ask::Verb(_) | Ask::Merge { .. } | Ask::Amend { to: Some(_), .. }
        );
        if over || !asked || !stands_for(&workflow, &stored.task, &read, &request.ask) {
            return Ok(());
        }
        let noted = Cause::Observation(Observation::DocumentRead {
            by: request.by.clone(),
            asked,
        });
        match self.steps.step_from(store, id, &noted, Some(read)) {
            Ok(_) | Err(DriverError::DocumentUnknown { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Cancel and merge do not wait for an observation first.
fn is_urgent(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Merge { .. } | Ask::Verb(Verb::Cancel | Verb::Merge)
    )
}
