//! A message from the user to an agent; the status stays.

use super::{RequestDecision, blocked_by};
use crate::decision::Decision;
use crate::effect::{Effect, NotifyRole};
use crate::language::hooks::OnError;
use crate::language::workflow::Kind;
use crate::refusal::{Attempt, Blocker};
use crate::role::Role;

impl RequestDecision<'_> {
    /// Sends a message to an agent that is running. A message does not start an agent, because the
    /// user did not ask for that.
    pub(super) fn tell(mut self, role: Option<&Role>) -> Decision {
        let blocker = self
            .check_not_ended()
            .or_else(|| {
                let is_assistant = self.request.by == Role::assistant();
                self.check_human().filter(|_| !is_assistant)
            })
            .or_else(|| self.check_role(role));
        if let Some(missing) = blocker {
            return self.refuse(Attempt::Tell, blocked_by(missing));
        }
        let Some(role) = self.recipient(role) else {
            // A task can also have no agent because its work has ended, for example when it waits
            // for a review. Only a queued task has not been started.
            let state = self.steps.workflow.state(&self.steps.task.status);
            let missing = if state.is_some_and(|state| state.kind == Kind::Queued) {
                Blocker::NotStarted
            } else {
                let role = role.cloned();
                Blocker::NoAgentRunning { role }
            };
            return self.refuse(Attempt::Tell, blocked_by(missing));
        };
        let text = self.request.message.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            return self.refuse(Attempt::Tell, blocked_by(Blocker::NothingToDo));
        }
        let notify = Effect::NotifyRole(NotifyRole {
            role,
            from: self.request.by.clone(),
            message: text.to_owned(),
            spawn_if_absent: None,
        });
        let plan = self.steps.next_version();
        self.steps.plan_effect(plan, notify, OnError::Continue);
        self.steps.finish()
    }

    fn recipient(&self, requested_role: Option<&Role>) -> Option<Role> {
        let task = &self.steps.task;
        if let Some(role) = requested_role {
            return task.is_live(role).then(|| role.clone());
        }
        let state = self.steps.workflow.state(&task.status);
        let expected = state.into_iter().flat_map(|state| &state.expects);
        let mut all = expected.chain(task.runs.keys());
        all.find(|role| task.is_live(role)).cloned()
    }
}
