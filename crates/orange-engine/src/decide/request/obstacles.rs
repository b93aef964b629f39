//! What blocks a request before any edge is checked.

use super::Asking;
use crate::decide::edges;
use crate::decide::steps::Steps;
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, Target, Trigger};
use crate::names::Status;
use crate::refusal::Missing;
use crate::role::Role;
use crate::task::PendingState;

impl Asking<'_> {
    /// Whether the caller's own earlier request brought the task to this status.
    pub(super) fn is_already_in(&self, to: &Status) -> bool {
        let task = &self.steps.task;
        *to == task.status
            && task.entered.from.is_some()
            && task.entered.by == self.request.by
            && edges::leading(&self.steps, to, Trigger::Request).is_empty()
    }

    /// Whether the engine has just started what the user wants to start: the task has left its
    /// queue and is not in the next one either.
    pub(super) fn is_started(&self, verb: Verb, to: &Status) -> bool {
        let task = &self.steps.task;
        let is_queue = |status: &Status| self.steps.workflow.has_place(Verb::Spawn, status);
        verb == Verb::Spawn
            && self.request.by == Role::Human
            && task.entered.by == Role::Engine
            && *to == task.status
            && !is_queue(&task.status)
            && task.entered.from.as_ref().is_some_and(is_queue)
    }

    pub(super) fn terminal(&self) -> Option<Missing> {
        let status = &self.steps.task.status;
        let over = self.steps.workflow.is_terminal(status);
        over.then(|| Missing::Terminal {
            status: status.clone(),
        })
    }

    /// A verb's edge means what the verb says only where the verb applies.
    pub(super) fn out_of_place(&self, verb: Verb) -> Option<Missing> {
        let workflow = self.steps.workflow;
        let here = workflow.has_place(verb, &self.steps.task.status);
        (!here).then_some(Missing::VerbUnavailable { verb })
    }

    /// Work is not restarted while an agent is doing it.
    pub(super) fn still_running(&self, verb: Verb) -> Option<Missing> {
        let role = running(&self.steps).filter(|_| verb == Verb::Retry)?;
        Some(Missing::StillRunning { role: role.clone() })
    }

    /// Whether this verb, and not another request with the same target, may have led here.
    pub(super) fn may_have_led_here(&self, verb: Verb) -> bool {
        let from = self.steps.task.entered.from.as_ref();
        from.is_some_and(|from| self.steps.workflow.has_place(verb, from))
    }

    /// The effects of entering a queue, such as routing and releasing, finish before the next
    /// start.
    pub(super) fn not_settled(&self, verb: Verb) -> Option<Missing> {
        let task = &self.steps.task;
        let waits = task.pending.iter().any(|pending| {
            task.unsettled == Some(pending.planned.plan) && pending.state == PendingState::Waiting
        });
        (verb == Verb::Spawn && waits).then_some(Missing::NotSettled)
    }

    /// An agent cannot overtake the user's merge.
    pub(super) fn merging(&self) -> Option<Missing> {
        let overtakes = self.request.by.is_agent() && self.steps.task.merging().is_some();
        overtakes.then_some(Missing::Merging)
    }

    /// Agents do not bring each other back; only the user or the engine does.
    pub(super) fn only_human(&self) -> Option<Missing> {
        let role = &self.request.by;
        role.is_agent().then(|| Missing::NotAllowed {
            role: role.clone(),
            by: vec![Role::Human],
        })
    }

    /// An agent that the status does not expect may not decide what is done in it.
    pub(super) fn not_expected(&self) -> Option<Missing> {
        let role = &self.request.by;
        let state = self.steps.workflow.state(&self.steps.task.status);
        let expected = state.is_some_and(|state| state.expects.contains(role));
        (role.is_agent() && !expected).then(|| Missing::NotAllowed {
            role: role.clone(),
            by: vec![Role::Human],
        })
    }

    /// Why no request can lead there.
    pub(super) fn unreachable(&self, to: &Status) -> Option<Missing> {
        if let Some(missing) = self.terminal() {
            return Some(missing);
        }
        let workflow = self.steps.workflow;
        if workflow.state(to).is_none() {
            return Some(Missing::UnknownStatus {
                status: to.clone(),
                allowed: self.allowed(),
            });
        }
        if !edges::leading(&self.steps, to, Trigger::Request).is_empty() {
            return None;
        }
        let status = &self.steps.task.status;
        if to == status {
            let status = status.clone();
            return Some(Missing::SameStatus { status });
        }
        let from_here = || workflow.edges.iter().filter(|edge| edge.from == *status);
        let goes_back = from_here().any(|edge| edge.to == Target::Previous);
        if goes_back && self.steps.task.entered.from.is_none() {
            return Some(Missing::NoPrevious);
        }
        let triggers: Vec<String> = Trigger::ALL
            .iter()
            .filter(|(_, trigger)| {
                trigger.is_available() && !edges::leading(&self.steps, to, *trigger).is_empty()
            })
            .map(|(name, _)| (*name).to_owned())
            .collect();
        if !triggers.is_empty() {
            return Some(Missing::NotByRequest { triggers });
        }
        let allowed = self.allowed();
        Some(Missing::NoTransition { allowed })
    }
    /// Where a request of the caller can lead from here.
    fn allowed(&self) -> Vec<Status> {
        let status = &self.steps.task.status;
        let edges = self.steps.workflow.edges_from(status);
        let mut allowed = Vec::new();
        for edge in edges.filter(|edge| edge.trigger == Trigger::Request) {
            if let Some(status) = edges::target(edge, &self.steps)
                && edge.is_open_to(&self.request.by)
                && !allowed.contains(&status)
            {
                allowed.push(status);
            }
        }
        allowed
    }
}

/// The agent that does the work of the current status.
pub(in crate::decide) fn running<'a>(steps: &'a Steps<'_>) -> Option<&'a Role> {
    let state = steps.workflow.state(&steps.task.status)?;
    let mut expected = state.expects.iter();
    let running = expected.find(|role| steps.task.is_live(role));
    running.filter(|_| state.kind == Kind::Agent)
}
