//! The one place where a task changes its status.

use super::hooks;
use super::steps::Steps;
use crate::effect::Effect;
use crate::event::{Fact, StatusChanged};
use crate::language::hooks::{Action, Hook};
use crate::language::workflow::{Change, Edge, NewValue, State, Trigger};
use crate::names::{RunId, Status};
use crate::role::Role;
use crate::task::PendingState;

/// What a transition is taken for.
pub(super) struct Taken<'a> {
    pub(super) edge: &'a Edge,
    pub(super) to: Status,
    pub(super) trigger: Trigger,
    pub(super) by: Role,
    pub(super) because: Vec<String>,
    pub(super) message: Option<String>,
}

/// Changes the status, then plans what the edge and the new state ask for.
pub(super) fn take(steps: &mut Steps<'_>, taken: Taken<'_>) {
    let workflow = steps.workflow;
    let live: Vec<(Role, RunId)> = steps
        .task
        .runs
        .iter()
        .filter(|(_, run)| run.state.is_live())
        .map(|(role, run)| (role.clone(), run.id.clone()))
        .collect();
    let message = taken.message.clone().unwrap_or_default();
    steps.record(Fact::StatusChanged(StatusChanged {
        from: steps.task.status.clone(),
        to: taken.to.clone(),
        trigger: taken.trigger,
        by: taken.by,
        because: taken.because,
        message: taken.message,
    }));
    let plan = steps.task.version;
    let state = workflow.state(&taken.to);
    let on_enter = state.map_or(&[] as &[Hook], |state| &state.on_enter);
    let all: Vec<&Hook> = taken.edge.hooks.iter().chain(on_enter).collect();
    cancel_stale(steps, state, &all);
    change_fields(steps, &taken.edge.set);
    hooks::plan(
        steps,
        &all,
        &hooks::Context {
            plan,
            message: &message,
            live: &live,
        },
    );
    steps.settle();
}

pub(super) fn change_fields(steps: &mut Steps<'_>, changes: &[Change]) {
    for change in changes {
        let field = change.field.clone();
        let value = match change.to {
            NewValue::Exactly(value) => value,
            NewValue::Increment => steps.task.value(&field).saturating_add(1),
        };
        steps.record(Fact::FieldSet { field, value });
    }
}

/// Calls off what was planned for the status that is left.
///
/// A start or a message that has not happened is still wanted only if the new state expects that
/// agent and the transition itself does nothing about it. What ends or saves something always
/// runs. What was given up belonged to the transition before: intent does not outlive it.
fn cancel_stale(steps: &mut Steps<'_>, state: Option<&State>, hooks: &[&Hook]) {
    let wanted = |role: &Role| {
        state.is_some_and(|state| state.expects.contains(role))
            && !hooks.iter().any(|hook| touches(&hook.action, role))
    };
    steps.cancel_pending(|effect, pending| match (effect, pending) {
        (effect, _) if effect.always_runs() => false,
        (Effect::Spawn(spawn), PendingState::Waiting) => !wanted(&spawn.role),
        (Effect::NotifyRole(notify), PendingState::Waiting) => !wanted(&notify.role),
        (Effect::Merge(_), _) | (_, PendingState::GivenUp { .. } | PendingState::Stopped) => true,
        (_, PendingState::Waiting) => false,
    });
}

fn touches(action: &Action, role: &Role) -> bool {
    match action {
        Action::KillSession => true,
        Action::KillRole { role: killed } => killed == role,
        Action::SpawnAgent(spawn) => spawn.role == *role,
        Action::NotifyWorker { .. } => *role == Role::Worker,
        _ => false,
    }
}
