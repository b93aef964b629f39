//! Stops and restarts agents on request; the status stays.

use super::{RequestDecision, already_done, blocked_by};
use crate::decide::edges::ClosedEdge;
use crate::decide::respawn;
use crate::decision::Decision;
use crate::effect::Effect;
use crate::evidence::Evidence;
use crate::language::hooks::OnError;
use crate::refusal::{Attempt, Blocker};
use crate::role::Role;

impl RequestDecision<'_> {
    /// Ends the agents that are running or about to start. Their end is not a death: no exit rule
    /// applies, and nothing but a request or a status change starts them again.
    pub(super) fn stop(mut self, role: Option<&Role>) -> Decision {
        let from = self.steps.task.status.clone();
        let attempt = Attempt::Stop { from };
        let blocker = self
            .check_human()
            .or_else(|| self.check_not_ended())
            .or_else(|| self.check_role(role));
        if let Some(missing) = blocker {
            return self.refuse(attempt, blocked_by(missing));
        }
        let is_requested = |known: &Role| role.is_none_or(|role| role == known);
        let mut roles = respawn::running_roles(&self.steps);
        roles.retain(is_requested);
        if roles.is_empty() {
            let mut runs = self.steps.task.runs.iter();
            if runs.any(|(known, run)| is_requested(known) && run.state.is_stopped()) {
                return already_done();
            }
            let role = role.cloned();
            return self.refuse(attempt, blocked_by(Blocker::NoAgentRunning { role }));
        }
        let stopped = respawn::mark_stopped(&mut self.steps, &roles);
        let plan = self.steps.next_version();
        self.steps.kill_runs(plan, stopped.runs);
        for message in stopped.messages {
            let notify = Effect::NotifyRole(message);
            self.steps.plan_effect(plan, notify, OnError::Continue);
        }
        for role in &roles {
            let reason = match self.request.by {
                Role::Engine => format!("the {role} was stopped, because a budget is used up"),
                _ => format!("the {role} {}", Evidence::Stopped),
            };
            self.steps.raise_attention(reason);
        }
        self.steps.settle();
        self.steps.finish()
    }

    /// Stops agents if they are running, and starts them as a respawn does.
    pub(super) fn restart(mut self, role: Option<&Role>) -> Decision {
        let from = self.steps.task.status.clone();
        let attempt = Attempt::Restart { from };
        let blocker = self
            .check_human()
            .or_else(|| self.check_not_ended())
            .or_else(|| self.check_role(role));
        if let Some(missing) = blocker {
            return self.refuse(attempt, blocked_by(missing));
        }
        let mut roles = self.roles_to_restart(role);
        if roles.is_empty() {
            let role = role.cloned();
            return self.refuse(attempt, blocked_by(Blocker::NoRespawn { role }));
        }
        roles.retain(|role| !respawn::starts_now(&self.steps, role));
        if roles.is_empty() {
            return already_done();
        }
        for role in &roles {
            let stopped = respawn::mark_stopped(&mut self.steps, std::slice::from_ref(role));
            let by = &self.request.by;
            let respawned = respawn::respawn(&mut self.steps, by, Some(role), 0, stopped.runs);
            if let Err(missing) = respawned {
                let closed = ClosedEdge {
                    missing,
                    unchecked: Vec::new(),
                    reachable: false,
                };
                return self.refuse(attempt, closed);
            }
            let plan = self.steps.next_version();
            for message in stopped.messages {
                let notify = Effect::NotifyRole(message);
                self.steps.plan_effect(plan, notify, OnError::Continue);
            }
        }
        self.steps.settle();
        self.steps.finish()
    }

    /// The requested role, else every role that is running or stopped and can be started here, else
    /// the one that is missing.
    fn roles_to_restart(&self, requested_role: Option<&Role>) -> Vec<Role> {
        let steps = &self.steps;
        if requested_role.is_none() {
            let runs = steps.task.runs.iter();
            let stopped = runs.filter(|(_, run)| run.state.is_stopped());
            let mut roles = respawn::running_roles(steps);
            roles.extend(stopped.map(|(role, _)| role.clone()));
            let state = steps.workflow.state(&steps.task.status);
            roles.retain(|role| state.is_some_and(|state| state.respawn.contains_key(role)));
            if !roles.is_empty() {
                return roles;
            }
        }
        let role = respawn::missing_role(steps, requested_role);
        role.into_iter().collect()
    }
}
