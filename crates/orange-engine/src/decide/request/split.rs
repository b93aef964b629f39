//! Decides whether the next run plans how to split a task.

use super::{RequestDecision, already_done, blocked_by};
use crate::decision::Decision;
use crate::event::Fact;
use crate::language::verbs::Verb;
use crate::refusal::Blocker;
use crate::role::Role;
use crate::routing::Split;
use crate::schedule::Wait;

impl RequestDecision<'_> {
    /// Only the user asks for a split, of a task that waits in a queue of a workflow that has a
    /// prompt for it.
    pub(super) fn split(mut self) -> Decision {
        let status = self.steps.task.status.clone();
        let is_possible = self.steps.workflow.can_plan()
            && self.steps.workflow.is_verb_available(Verb::Spawn, &status);
        let blocker = self
            .check_not_ended()
            .or_else(|| self.check_human())
            .or_else(|| {
                let verb = Verb::Spawn;
                (!is_possible).then_some(Blocker::VerbUnavailable { verb })
            });
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
