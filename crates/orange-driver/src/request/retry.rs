//! Retries failed effects, and unblocks tasks.

use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Edge, Trigger};
use orange_engine::names::{Status, TaskId};
use orange_engine::refusal::Blocker;
use orange_engine::{Refusal, Task, Workflow};
use orange_store::TaskFilter;

use super::answer::Answer;
use super::wait::WaitPolicy;
use crate::DriverError;
use crate::request::Requests;
use crate::steps::pinned_workflow;

/// A task that was asked to continue.
#[derive(Debug)]
pub struct UnblockResult {
    pub task: Task,
    pub answer: Result<Answer, DriverError>,
}

impl Requests {
    /// Requests the verb `retry`, which retries failed effects first. If effects are due that no
    /// process performs, or if the task has ended, only effects are performed, which is not a step
    /// of the workflow.
    pub fn retry(
        &self,
        task: &TaskId,
        message: Option<&String>,
        waiting: WaitPolicy,
    ) -> Result<Answer, DriverError> {
        let store = self.context.store()?;
        let stored = store.require(task)?;
        let has_ended = pinned_workflow(&stored)
            .is_ok_and(|workflow| workflow.is_terminal(&stored.task.status));
        let has_effects = !stored.task.pending.is_empty();
        let kind = if has_ended && has_effects || self.performer.is_unperformed(&store, task)? {
            RequestKind::RetryEffects
        } else {
            RequestKind::Verb(Verb::Retry)
        };
        let request = |by| Request {
            by,
            kind,
            is_confirmed: false,
            message: message.cloned(),
            head: None,
            if_version: None,
        };
        self.ask_as_caller(task, request, waiting)
    }

    /// Unblocks every blocked task, that is, one whose status the verb `unblock` can leave. A
    /// failure with one task does not stop the others.
    pub fn unblock_all(&self, waiting: WaitPolicy) -> Result<Vec<UnblockResult>, DriverError> {
        self.callers.require_user("unblock every task")?;
        let store = self.context.read_store()?;
        let mut found = Vec::new();
        for summary in store.list(&TaskFilter::default())?.tasks {
            let stored = store.require(&summary.task.id)?;
            let is_blocked = pinned_workflow(&stored)
                .is_ok_and(|workflow| can_unblock(&workflow, &stored.task.status));
            if !is_blocked {
                continue;
            }
            let request = |by| Request::new(by, RequestKind::Verb(Verb::Unblock));
            let task = summary.task;
            let answer = self.ask_as_caller(&task.id, request, waiting);
            // Leave out a task that another caller has unblocked meanwhile.
            let was_unblocked_meanwhile = match &answer {
                Ok(Answer::Refused(refusal)) => is_unavailable(refusal),
                Ok(Answer::AlreadyDone(_)) => true,
                _ => false,
            };
            if !was_unblocked_meanwhile {
                found.push(UnblockResult { task, answer });
            }
        }
        Ok(found)
    }
}

/// Whether `unblock` can move a task out of a status.
fn can_unblock(workflow: &Workflow, status: &Status) -> bool {
    let is_unblock_edge = |edge: &Edge| {
        let targets = workflow.verbs.get(&Verb::Unblock);
        edge.trigger == Trigger::Request && targets.is_some_and(|it| it.contains(&edge.to))
    };
    workflow.is_verb_available(Verb::Unblock, status)
        && workflow.edges_from(status).any(is_unblock_edge)
}

/// Whether the verb is not available in the status.
fn is_unavailable(refusal: &Refusal) -> bool {
    let unavailable = |missing: &Blocker| {
        matches!(
            missing,
            Blocker::VerbUnavailable { .. } | Blocker::Terminal { .. }
        )
    };
    refusal.missing.iter().any(unavailable)
}
