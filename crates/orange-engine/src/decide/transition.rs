//! The one place where a task changes its status.

use super::edges::{self, Caller, Choice};
use super::hooks;
use super::plan_builder::{NeededFacts, PlanBuilder};
use super::submission;
use crate::effect::{Effect, KillScope, NotifyRole};
use crate::event::{Fact, StatusChange};
use crate::input::FactNeeded;
use crate::language::hooks::{Action, Hook, OnError};
use crate::language::workflow::{Change, Edge, Kind, NewValue, State, Trigger};
use crate::names::Status;
use crate::refusal::Blocker;
use crate::role::Role;
use crate::task::{PendingState, TransitionMessage};

/// A transition to take.
pub(super) struct TransitionPlan<'a> {
    pub(super) edge: &'a Edge,
    pub(super) to: Status,
    pub(super) trigger: Trigger,
    pub(super) by: Role,
    pub(super) because: Vec<String>,
    pub(super) message: Option<String>,
}

/// Takes the edge to `to` that is open to the engine, or returns what is missing.
pub(super) fn take_by_engine(
    steps: &mut PlanBuilder<'_>,
    edges: &[&Edge],
    to: &Status,
    trigger: Trigger,
    reason: &str,
) -> Result<Result<(), Vec<Blocker>>, NeededFacts> {
    match edges::choose(edges, Caller::ENGINE, steps) {
        Choice::Open { edge, because } => {
            let because = std::iter::once(reason.to_owned()).chain(because).collect();
            let taken = TransitionPlan {
                edge,
                to: to.clone(),
                trigger,
                by: Role::Engine,
                because,
                message: None,
            };
            take(steps, taken).map(Ok)
        }
        Choice::Closed(closed) if closed.missing.is_empty() => {
            let allowed = Vec::new();
            Ok(Err(vec![Blocker::NoTransition { allowed }]))
        }
        Choice::Closed(closed) => Ok(Err(closed.missing)),
        Choice::Needs(facts) => Err(facts),
    }
}

/// Changes the status, then plans what the edge and the new state require.
///
/// If a gate of the workflow requires freshness, the document must be known: a section is fresh if
/// it has changed since the status was entered.
pub(super) fn take(
    steps: &mut PlanBuilder<'_>,
    taken: TransitionPlan<'_>,
) -> Result<(), NeededFacts> {
    let workflow = steps.workflow;
    let ends = workflow.is_terminal(&taken.to);
    if steps.document().is_none() && workflow.requires_freshness() && !ends {
        return Err(vec![FactNeeded::Document]);
    }
    let submission =
        submission::submission_after(steps, taken.edge, &taken.to, taken.trigger, &taken.by)?;
    let state = workflow.state(&taken.to);
    let on_enter = state.map_or(&[] as &[Hook], |state| &state.on_enter);
    let all: Vec<&Hook> = taken.edge.hooks.iter().chain(on_enter).collect();
    let is_git_known = steps.facts().is_some_and(|facts| facts.git.is_some());
    if hooks::need_commit(&all) && submission.is_none() && !is_git_known {
        return Err(vec![FactNeeded::Git]);
    }
    let known = hooks::known_runs(steps);
    let cancels_merge = steps.task.pending_merge().is_some() && taken.by != Role::Human && !ends;
    let message = taken.message.clone().unwrap_or_default();
    let state = workflow.state(&taken.to);
    let on_enter = state.map_or(&[] as &[Hook], |state| &state.on_enter);
    let all: Vec<&Hook> = taken.edge.hooks.iter().chain(on_enter).collect();
    steps.record(Fact::StatusChanged(StatusChange {
        from: steps.task.status.clone(),
        to: taken.to.clone(),
        trigger: taken.trigger,
        by: taken.by.clone(),
        evidence: taken.because,
        message: taken.message,
        keeps_messages: keeps_messages(state, &all, &taken.by),
        submission,
    }));
    let plan = steps.task.version;
    let context = hooks::Context {
        plan,
        message: &message,
        by: &taken.by,
        known: &known,
    };
    plan_entry(steps, &all, &taken.edge.set, &context);
    pass_message_on(steps, state, &all, &context);
    if cancels_merge {
        steps.raise_attention(String::from(
            "the merge was cancelled: the task changed its status",
        ));
    }
    report_absent_agents(steps);
    steps.settle();
    Ok(())
}

/// Whether messages wait for an agent in this status: for one that starts, that stays, or that a
/// queue starts later.
fn keeps_messages(state: Option<&State>, hooks: &[&Hook], by: &Role) -> bool {
    let Some(state) = state.filter(|state| state.kind != Kind::Terminal) else {
        return false;
    };
    let has_others = state.expects.iter().any(|role| role != by);
    carry_message(hooks) || has_others || matches!(state.kind, Kind::Queued | Kind::Waiting)
}

/// Whether an agent gets the message with its start or from a hook.
fn carry_message(hooks: &[&Hook]) -> bool {
    hooks.iter().any(|hook| {
        matches!(
            hook.action,
            Action::SpawnAgent(_) | Action::NotifyWorker { .. }
        )
    })
}

/// Sends the message to the agents that stay, if no agent gets it with its start or from a hook.
/// An agent that is expected but gone finds it in its inbox once it is respawned.
fn pass_message_on(
    steps: &mut PlanBuilder<'_>,
    state: Option<&State>,
    hooks: &[&Hook],
    context: &hooks::Context<'_>,
) {
    let messages = context.messages(steps);
    // The inbox names one author; several are named in the text, and what an agent wrote is quoted.
    let (from, message) = match messages.as_slice() {
        [] => return,
        [
            TransitionMessage {
                by: Role::Human,
                text,
                ..
            },
        ] => (Role::Human, text.clone()),
        messages => (Role::Engine, hooks::attributed(messages).join("\n\n")),
    };
    if carry_message(hooks) {
        return;
    }
    for role in state.into_iter().flat_map(|state| &state.expects) {
        if role == context.by {
            continue;
        }
        let notify = Effect::NotifyRole(NotifyRole {
            role: role.clone(),
            from: from.clone(),
            message: message.clone(),
            spawn_if_absent: None,
        });
        steps.plan_effect(context.plan, notify, OnError::Continue);
    }
}

/// Plans the hooks of the status that was just entered, in place of what was planned before.
pub(super) fn plan_entry(
    steps: &mut PlanBuilder<'_>,
    hooks: &[&Hook],
    set: &[Change],
    context: &hooks::Context<'_>,
) {
    let state = steps.workflow.state(&steps.task.status);
    cancel_stale(steps, context.plan, state, hooks);
    change_fields(steps, set);
    hooks::plan(steps, hooks, context);
}

/// Whether the task is in a status that asks the user.
pub(super) fn is_waiting_for_user(steps: &PlanBuilder<'_>) -> bool {
    let state = steps.workflow.state(&steps.task.status);
    state.is_some_and(asks_user)
}

pub(super) fn asks_user(state: &State) -> bool {
    state.kind == Kind::Human
}

/// Raises attention for an expected agent that is neither running nor being started, because the
/// task would wait for it in vain.
pub(super) fn report_absent_agents(steps: &mut PlanBuilder<'_>) {
    let Some(state) = steps.workflow.state(&steps.task.status) else {
        return;
    };
    for role in &state.expects {
        if !steps.task.is_live(role) && !steps.task.is_being_notified(role) {
            let status = &state.name;
            steps.raise_attention(format!(
                "`{status}` expects the {role}, but none is running"
            ));
        }
    }
}

pub(super) fn change_fields(steps: &mut PlanBuilder<'_>, changes: &[Change]) {
    for change in changes {
        let field = change.field.clone();
        let value = match change.to {
            NewValue::Exactly(value) => value,
            NewValue::Increment => steps.task.value(&field).saturating_add(1),
        };
        steps.record(Fact::FieldSet { field, value });
    }
}

/// Cancels what was planned for the previous status.
///
/// A start or a message that has not happened is kept only if the new state expects that agent and
/// the transition itself does nothing about it. A cancelled start may have partly happened, so its
/// run is ended. The targets of a failed kill are ended too, by name: retrying a kill of the whole
/// session would hit unrelated agents. A failed release waits for a retry, unless the transition
/// releases again or acquires a workspace. Any other failed effect belonged to the previous
/// transition and is cancelled.
fn cancel_stale(steps: &mut PlanBuilder<'_>, plan: u64, state: Option<&State>, hooks: &[&Hook]) {
    let any_hook = |test: &dyn Fn(&Action) -> bool| hooks.iter().any(|hook| test(&hook.action));
    let acquires = any_hook(&|action| matches!(action, Action::AcquireWorkspace { .. }));
    let releases = any_hook(&|action| matches!(action, Action::ReleaseWorkspace));
    let is_kept = |role: &Role| {
        state.is_some_and(|state| state.expects.contains(role))
            && !any_hook(&|action| touches(action, role))
    };
    let mut leftover_runs = Vec::new();
    for pending in &steps.task.pending {
        let failed = pending.state != PendingState::Waiting;
        let start = match &pending.planned.effect {
            Effect::Spawn(spawn) => Some(spawn),
            Effect::NotifyRole(notify) => notify.spawn_if_absent.as_ref(),
            Effect::Kill(kill)
                if failed && !any_hook(&|action| kills_again(action, &kill.scope)) =>
            {
                leftover_runs.extend(kill.runs.iter().cloned());
                None
            }
            _ => None,
        };
        if let Some(start) = start
            && !failed
            && !is_kept(&start.role)
            && !any_hook(&|action| kills(action, &start.role))
        {
            leftover_runs.push(start.run.clone());
        }
    }
    steps.cancel_pending(|effect, pending| {
        let failed = *pending != PendingState::Waiting;
        match effect {
            Effect::Spawn(spawn) => failed || !is_kept(&spawn.role),
            Effect::NotifyRole(notify) => failed || !is_kept(&notify.role),
            // These are about the commit of the previous status.
            Effect::Merge(_)
            | Effect::ReadyPr
            | Effect::RerunChecks { .. }
            | Effect::MergePr { .. } => true,
            Effect::ReleaseWorkspace { .. } => failed && (acquires || releases),
            _ => failed,
        }
    });
    steps.kill_runs(plan, leftover_runs);
}

fn touches(action: &Action, role: &Role) -> bool {
    match action {
        Action::SpawnAgent(spawn) => spawn.role == *role,
        Action::NotifyWorker { .. } => *role == Role::Worker,
        action => kills(action, role),
    }
}

fn kills(action: &Action, role: &Role) -> bool {
    match action {
        Action::KillSession => true,
        Action::KillRole { role: killed } => killed == role,
        _ => false,
    }
}

fn kills_again(action: &Action, scope: &KillScope) -> bool {
    match scope {
        KillScope::Role(role) => kills(action, role),
        KillScope::Session | KillScope::Runs => matches!(action, Action::KillSession),
    }
}
