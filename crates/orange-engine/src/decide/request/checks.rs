//! What blocks a request before any edge is checked.

use super::RequestDecision;
use crate::decide::edges;
use crate::decide::plan_builder::PlanBuilder;
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, Target, Trigger};
use crate::names::Status;
use crate::refusal::Blocker;
use crate::role::Role;
use crate::task::PendingState;

impl RequestDecision<'_> {
    /// Whether the caller's own earlier request brought the task to this status.
    pub(super) fn is_already_in(&self, to: &Status) -> bool {
        let task = &self.steps.task;
        *to == task.status
            && task.entered.from.is_some()
            && task.entered.by == self.request.by
            && edges::edges_to(&self.steps, to, Trigger::Request).is_empty()
    }

    /// Whether the engine has just started what the user wants to start: the task has left its
    /// queue and is not in the next one either.
    pub(super) fn is_started(&self, verb: Verb, to: &Status) -> bool {
        let task = &self.steps.task;
        let is_queue = |status: &Status| self.steps.workflow.is_verb_available(Verb::Spawn, status);
        verb == Verb::Spawn
            && self.request.by == Role::Human
            && task.entered.by == Role::Engine
            && *to == task.status
            && !is_queue(&task.status)
            && task.entered.from.as_ref().is_some_and(is_queue)
    }

    pub(super) fn check_not_ended(&self) -> Option<Blocker> {
        let status = &self.steps.task.status;
        let has_ended = self.steps.workflow.is_terminal(status);
        has_ended.then(|| Blocker::Terminal {
            status: status.clone(),
            is_cancelled: self.steps.workflow.is_cancelled(status),
            branch: self
                .steps
                .workflow
                .leaves_merging_to_user(status)
                .then(|| self.steps.task.branch.clone()),
        })
    }

    /// A verb can be used only in a status where it applies: elsewhere, an edge to its target means
    /// something else.
    pub(super) fn check_verb_available(&self, verb: Verb) -> Option<Blocker> {
        let workflow = self.steps.workflow;
        let is_available = workflow.is_verb_available(verb, &self.steps.task.status);
        (!is_available).then_some(Blocker::VerbUnavailable { verb })
    }

    /// Blocks `retry` while an agent is doing the work.
    pub(super) fn check_not_running(&self, verb: Verb) -> Option<Blocker> {
        let role = running_agent(&self.steps).filter(|_| verb == Verb::Retry)?;
        Some(Blocker::StillRunning { role: role.clone() })
    }

    /// Whether the verb was available in the previous status. If not, another request with the
    /// same target led here.
    pub(super) fn can_have_led_here(&self, verb: Verb) -> bool {
        let from = self.steps.task.entered.from.as_ref();
        from.is_some_and(|from| self.steps.workflow.is_verb_available(verb, from))
    }

    /// Blocks `spawn` while effects of entering the queue, such as routing or releasing a
    /// workspace, are pending.
    pub(super) fn check_settled(&self, verb: Verb) -> Option<Blocker> {
        let task = &self.steps.task;
        let waits = task.pending.iter().any(|pending| {
            task.unfinished_plan == Some(pending.planned.plan)
                && pending.state == PendingState::Waiting
        });
        (verb == Verb::Spawn && waits).then_some(Blocker::EffectsRunning)
    }

    /// Blocks requests of an agent while a merge is pending.
    pub(super) fn check_not_merging(&self) -> Option<Blocker> {
        let overtakes = self.request.by.is_agent() && self.steps.task.pending_merge().is_some();
        overtakes.then_some(Blocker::Merging)
    }

    /// Blocks requests that an agent may not make; only the user or the engine may.
    pub(super) fn check_human(&self) -> Option<Blocker> {
        let role = &self.request.by;
        role.is_agent().then(|| Blocker::NotAllowed {
            role: role.clone(),
            by: vec![Role::Human],
        })
    }

    /// Blocks requests about a role that the workflow starts no agent for.
    pub(super) fn check_role(&self, role: Option<&Role>) -> Option<Blocker> {
        let role = role.filter(|role| !self.steps.task.runs.contains_key(role))?;
        let roles = self.steps.workflow.agent_roles();
        (!roles.contains(role)).then(|| Blocker::UnknownRole {
            role: role.clone(),
            roles,
        })
    }

    /// Blocks requests by an agent that the status does not expect.
    pub(super) fn check_expected(&self) -> Option<Blocker> {
        let role = &self.request.by;
        let state = self.steps.workflow.state(&self.steps.task.status);
        let expected = state.is_some_and(|state| state.expects.contains(role));
        (role.is_agent() && !expected).then(|| Blocker::NotAllowed {
            role: role.clone(),
            by: vec![Role::Human],
        })
    }

    /// Why no request can lead to this status, if none can.
    pub(super) fn check_reachable(&self, to: &Status) -> Option<Blocker> {
        if let Some(missing) = self.check_not_ended() {
            return Some(missing);
        }
        let workflow = self.steps.workflow;
        if workflow.state(to).is_none() {
            return Some(Blocker::UnknownStatus {
                status: to.clone(),
                allowed: self.allowed(),
            });
        }
        if !edges::edges_to(&self.steps, to, Trigger::Request).is_empty() {
            return None;
        }
        let status = &self.steps.task.status;
        if to == status {
            let status = status.clone();
            return Some(Blocker::SameStatus { status });
        }
        let from_here = || workflow.edges.iter().filter(|edge| edge.from == *status);
        let goes_back = from_here().any(|edge| edge.to == Target::Previous);
        if goes_back && self.steps.task.entered.from.is_none() {
            return Some(Blocker::NoPrevious);
        }
        let triggers: Vec<String> = Trigger::ALL
            .iter()
            .filter(|(_, trigger)| !edges::edges_to(&self.steps, to, *trigger).is_empty())
            .map(|(name, _)| (*name).to_owned())
            .collect();
        if !triggers.is_empty() {
            return Some(Blocker::NotByRequest { triggers });
        }
        let allowed = self.allowed();
        Some(Blocker::NoTransition { allowed })
    }

    /// Where a request of the caller can lead from here; gates may still be missing.
    fn allowed(&self) -> Vec<Status> {
        let status = &self.steps.task.status;
        let edges = self.steps.workflow.edges_from(status);
        let mut allowed = Vec::new();
        for edge in edges.filter(|edge| edge.trigger == Trigger::Request) {
            if let Some(status) = edges::target(edge, &self.steps)
                && edge.is_open_to(&self.request.by)
                && edges::guard_holds(edge, &self.steps)
                && !allowed.contains(&status)
            {
                allowed.push(status);
            }
        }
        allowed
    }
}

/// The role of the running agent that does the work of the current status.
pub(in crate::decide) fn running_agent<'a>(steps: &'a PlanBuilder<'_>) -> Option<&'a Role> {
    let state = steps.workflow.state(&steps.task.status)?;
    let mut expected = state.expects.iter();
    let running = expected.find(|role| steps.task.is_live(role));
    running.filter(|_| state.kind == Kind::Agent)
}
