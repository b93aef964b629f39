//! Continues a cancelled task where it was.

use super::{RequestDecision, blocked_by};
use crate::decide::hooks::{self, known_runs};
use crate::decide::plan_builder::PlanBuilder;
use crate::decide::respawn;
use crate::decide::transition::{self, plan_entry};
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::{Fact, StatusChange};
use crate::input::{FactNeeded, Origin};
use crate::language::Workflow;
use crate::language::hooks::{Action, Hook, OnError};
use crate::language::workflow::{Change, State, Trigger};
use crate::names::Status;
use crate::refusal::{Attempt, Blocker};
use crate::role::Role;
use crate::task::{PendingState, Task};

/// Where a reopened task continues.
struct Place<'a> {
    state: &'a State,
    /// The status that `@previous` means there.
    previous: Option<Status>,
    needs_workspace: bool,
    /// The hooks of the entry, if the task begins again; empty if it continues where it was.
    hooks: &'a [Hook],
    set: &'a [Change],
}

impl RequestDecision<'_> {
    /// Goes back to the status that the task was cancelled in, with a workspace, its saved work and
    /// the agents that the status expects. Effects of the cancellation finish first, so that the
    /// uncommitted work is saved before it is restored.
    pub(super) fn reopen(mut self) -> Decision {
        let attempt = Attempt::Reopen;
        let blocker = self
            .check_human()
            .or_else(|| self.check_cancelled())
            .or_else(|| self.check_performed());
        if let Some(missing) = blocker {
            return self.refuse(attempt, blocked_by(missing));
        }
        let Some(origin) = self.steps.facts().and_then(|facts| facts.origin.as_ref()) else {
            return self.steps.need(vec![FactNeeded::Origin]);
        };
        let workflow = self.steps.workflow;
        if self.steps.document().is_none() && workflow.requires_freshness() {
            return self.steps.need(vec![FactNeeded::Document]);
        }
        let Some(place) = find_place(workflow, &self.steps.task, origin) else {
            let entries = workflow.entries.iter();
            let entries = entries.map(|entry| entry.status.clone()).collect();
            return self.refuse(attempt, blocked_by(Blocker::NoEntry { entries }));
        };
        // What was written while the task was cancelled must not count as fresh.
        self.steps.import_for_observation(&Role::Engine);
        enter(&mut self.steps, &place, &self.request.by);
        self.steps.finish()
    }

    fn check_cancelled(&self) -> Option<Blocker> {
        let status = &self.steps.task.status;
        let is_cancelled = self.steps.workflow.is_cancelled(status);
        (!is_cancelled).then(|| Blocker::NotCancelled {
            status: status.clone(),
            has_ended: self.check_not_ended().is_some(),
        })
    }

    fn check_performed(&self) -> Option<Blocker> {
        let mut pending = self.steps.task.pending.iter();
        let waits = pending.any(|it| it.state == PendingState::Waiting);
        waits.then_some(Blocker::EffectsRunning)
    }
}

/// Where the task was, if its workflow still has that status; else where it can begin.
fn find_place<'a>(workflow: &'a Workflow, task: &Task, origin: &Origin) -> Option<Place<'a>> {
    let is_open =
        |status: &&Status| workflow.state(status).is_some() && !workflow.is_terminal(status);
    if let Some(status) = origin.status.as_ref().filter(is_open) {
        let state = workflow.state(status)?;
        return Some(Place {
            state,
            previous: origin.previous.as_ref().filter(is_open).cloned(),
            needs_workspace: origin.had_workspace || !state.expects.is_empty(),
            hooks: &[],
            set: &[],
        });
    }
    let mut entries = workflow.entries.iter();
    let entry = entries.find(|entry| {
        let when = entry.when.as_ref();
        when.is_none_or(|when| when.holds(|field| task.value(field)))
    })?;
    let state = workflow.state(&entry.status)?;
    Some(Place {
        state,
        previous: None,
        needs_workspace: !state.expects.is_empty(),
        hooks: &entry.hooks,
        set: &entry.set,
    })
}

/// Changes the status, then plans what the status needs.
fn enter(steps: &mut PlanBuilder<'_>, place: &Place<'_>, by: &Role) {
    let known = known_runs(steps);
    steps.record(Fact::StatusChanged(StatusChange {
        from: steps.task.status.clone(),
        to: place.state.name.clone(),
        trigger: Trigger::Request,
        by: by.clone(),
        evidence: Vec::new(),
        message: None,
        keeps_messages: false,
        submission: steps.task.submission.clone(),
    }));
    let plan = steps.task.version;
    steps.record(Fact::TaskReopened {
        by: by.clone(),
        previous: place.previous.clone(),
    });
    let acquire = Hook {
        action: Action::AcquireWorkspace { restore: true },
        timeout: None,
        on_error: OnError::Stop,
        at: place.state.at,
    };
    let acquire = place.needs_workspace.then_some(&acquire);
    let hooks = acquire.into_iter().chain(place.hooks);
    let hooks: Vec<&Hook> = hooks.chain(&place.state.on_enter).collect();
    let context = hooks::Context {
        plan,
        message: "",
        by,
        known: &known,
    };
    plan_entry(steps, &hooks, place.set, &context);
    for role in &place.state.expects {
        let is_coming = steps.task.is_live(role) || steps.task.is_being_notified(role);
        let spawn = if is_coming {
            None
        } else {
            respawn::spawn(steps, role, 0, "")
        };
        if let Some(spawn) = spawn {
            steps.plan_effect(plan, Effect::Spawn(spawn), OnError::Stop);
        }
    }
    transition::report_absent_agents(steps);
    steps.settle();
}
