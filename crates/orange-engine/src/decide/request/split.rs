//! Decides whether the next run plans how to split a task.

use super::{RequestDecision, already_done, blocked_by};
use crate::decision::Decision;
use crate::event::Fact;
use crate::language::verbs::Verb;
use crate::language::workflow::Kind;
use crate::refusal::{Blocker, CannotPlan};
use crate::report::MAX_DEPTH;
use crate::role::Role;
use crate::routing::Split;
use crate::schedule::Wait;

impl RequestDecision<'_> {
    /// Only the user asks for a split, of a task that waits in a queue of a workflow that has a
    /// prompt for it.
    pub(super) fn request_split(mut self) -> Decision {
        let blocker = self
            .check_not_ended()
            .or_else(|| self.check_human())
            .or_else(|| self.check_can_plan());
        if let Some(missing) = blocker {
            let attempt = self.attempt_of(Verb::Spawn);
            return self.refuse(attempt, blocked_by(missing));
        }
        if self.steps.task.routing.split == Split::Wanted {
            return already_done();
        }
        let by = self.request.by.clone();
        self.steps.record(Fact::SplitRequested { by });
        self.steps.finish()
    }

    fn check_can_plan(&self) -> Option<Blocker> {
        let workflow = self.steps.workflow;
        let task = &self.steps.task;
        let state = workflow.state(&task.status);
        let is_queued = state.is_some_and(|state| state.kind == Kind::Queued)
            && workflow.is_verb_available(Verb::Spawn, &task.status);
        let reason = if !workflow.can_plan() {
            CannotPlan::Workflow
        } else if !is_queued {
            CannotPlan::Status
        } else if task.queueing.ancestors() >= MAX_DEPTH {
            CannotPlan::Depth
        } else {
            return None;
        };
        Some(Blocker::CannotPlan { reason })
    }

    /// Blocks a start by the engine while the user is asked whether to split the task.
    pub(super) fn check_split(&self, verb: Verb) -> Option<Blocker> {
        let task = &self.steps.task;
        let is_asked = task.routing.split == Split::Suggested;
        let is_start = verb == Verb::Spawn && self.request.by == Role::Engine;
        (is_asked && is_start).then(|| Blocker::HeldBack {
            wait: Wait::Split {
                task: task.id.clone(),
            },
        })
    }
}
