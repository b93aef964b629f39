//! How effects change a task, from the plan to the outcome.

use super::{add_child, raise_attention};
use crate::effect::{Effect, EffectId, EffectOutcome, Kill, KillScope, PlannedEffect, Spawn};
use crate::names::RunId;
use crate::role::Role;
use crate::routing::{Split, split_commands};
use crate::task::{PendingEffect, PendingState, Run, RunState, Task, TransitionMessage, Workspace};

pub(super) fn plan_effect(task: &mut Task, planned: &PlannedEffect) {
    apply_expected_result(task, planned);
    task.pending.push(PendingEffect {
        planned: planned.clone(),
        state: PendingState::Waiting,
    });
}

/// The result of an effect counts from the moment the effect is planned.
fn apply_expected_result(task: &mut Task, planned: &PlannedEffect) {
    match &planned.effect {
        Effect::AcquireWorkspace { .. } if !matches!(task.workspace, Workspace::Bound(_)) => {
            task.workspace = Workspace::Acquiring;
        }
        Effect::ReleaseWorkspace { .. } => {
            task.workspace = match std::mem::replace(&mut task.workspace, Workspace::None) {
                Workspace::Bound(name) => Workspace::Releasing(Some(name)),
                Workspace::Acquiring => Workspace::Releasing(None),
                other => other,
            };
        }
        Effect::Spawn(spawn) => {
            // Starting an agent resolves the reasons for attention so far.
            task.attention.clear();
            start_run(task, spawn, RunState::Starting);
        }
        Effect::Kill(kill) => {
            for run in task.runs.values_mut() {
                if kill.runs.contains(&run.id) && run.state.is_live() {
                    run.state = RunState::Ending;
                }
            }
        }
        _ => {}
    }
}

/// A new run of a role replaces the previous one. The report is dropped, because it belongs to the
/// run that wrote it.
fn start_run(task: &mut Task, spawn: &Spawn, state: RunState) {
    task.report = None;
    let run = Run {
        id: spawn.run.clone(),
        headless: spawn.headless,
        plans: spawn.plans,
        state,
    };
    task.runs.insert(spawn.role.clone(), run);
}

pub(super) fn finish_effect(task: &mut Task, id: EffectId, outcome: &EffectOutcome) {
    let Some(pending) = take_pending(task, id) else {
        return;
    };
    note_received(task, &pending.planned);
    match (pending.planned.effect, outcome) {
        (Effect::AcquireWorkspace { .. }, EffectOutcome::Bound(name)) => {
            task.workspace = match task.workspace {
                Workspace::Releasing(_) => Workspace::Releasing(Some(name.clone())),
                _ => Workspace::Bound(name.clone()),
            };
        }
        (Effect::ReleaseWorkspace { .. }, _) => {
            if matches!(task.workspace, Workspace::Releasing(_)) {
                task.workspace = Workspace::None;
            }
        }
        (Effect::Spawn(spawn), _) => set_alive(task, &spawn.role, &spawn.run),
        (Effect::Kill(kill), _) => forget_killed(task, &kill),
        (Effect::NotifyRole(notify), EffectOutcome::SpawnedInstead) => {
            if let Some(spawn) = &notify.spawn_if_absent {
                start_run(task, spawn, RunState::Alive);
            }
        }
        (Effect::ArchiveSection { section }, _) => {
            task.sections.remove(&section);
        }
        (Effect::Route, EffectOutcome::Routed(harness)) => task.harness = harness.clone(),
        (Effect::Route, EffectOutcome::Chosen(choice)) => {
            task.harness = choice.harness.clone();
            task.agent_settings.model.clone_from(&choice.model);
            task.agent_settings.effort.clone_from(&choice.effort);
            task.routing.route = Some(choice.route.clone());
            if task.routing.split == Split::No {
                task.routing.split = choice.split;
            }
            if task.routing.split == Split::Suggested {
                let commands = split_commands(&task.id);
                let reason = format!("the router suggests splitting this task: {commands}");
                raise_attention(task, reason);
            }
        }
        (Effect::CreatePr(_), EffectOutcome::PullRequest(link)) => {
            task.pull_request = Some(link.clone());
        }
        (Effect::CreateChildren { .. }, EffectOutcome::Children(children)) => {
            for child in children {
                add_child(task, child);
            }
        }
        (Effect::MergeChildren { .. }, EffectOutcome::ChildrenMerged(merges)) => {
            task.child_merges.extend(merges.clone());
        }
        _ => {}
    }
}

/// Notes that the agent that was started or notified has received the messages of this and earlier
/// plans. A notification stays in the inbox. A prompt is lost with its agent, so its messages are
/// kept for the next agent of the role.
fn note_received(task: &mut Task, planned: &PlannedEffect) {
    let is_new = |message: &TransitionMessage| message.plan > planned.plan;
    match &planned.effect {
        Effect::Spawn(spawn) => {
            for message in task.messages.iter_mut().filter(|it| !is_new(it)) {
                message.received_by.get_or_insert(spawn.role.clone());
            }
        }
        Effect::NotifyRole(_) => task
            .messages
            .retain(|message| is_new(message) || message.received_by.is_some()),
        _ => {}
    }
}

fn set_alive(task: &mut Task, role: &Role, id: &RunId) {
    if let Some(run) = task.runs.get_mut(role)
        && run.id == *id
        && run.state == RunState::Starting
    {
        run.state = RunState::Alive;
    }
}

/// A run that the user stopped is remembered until it is replaced, or until every agent of its role
/// is killed. Without it, the task could not say why no agent is running.
fn forget_killed(task: &mut Task, kill: &Kill) {
    let is_remembered = |run: &Run| kill.scope == KillScope::Runs && run.state.is_stopped();
    task.runs
        .retain(|_, run| !kill.runs.contains(&run.id) || is_remembered(run));
}

pub(super) fn fail_effect(task: &mut Task, id: EffectId, error: &str) {
    let Some(index) = position(task, id) else {
        return;
    };
    let planned = task.pending[index].planned.clone();
    revert_expected_result(task, &planned);
    // The message is in the inbox even if no agent could be notified.
    if matches!(planned.effect, Effect::NotifyRole(_)) {
        note_received(task, &planned);
    }
    raise_attention(task, describe_failure(&planned, error));
    let error = error.to_owned();
    task.pending[index].state = PendingState::Failed { error };
}

/// Clears the attention list, because the user has dealt with it. Failed effects that can be
/// retried stay listed.
pub(super) fn clear_attention(task: &mut Task) {
    let reasons = task
        .pending
        .iter()
        .filter_map(|pending| match &pending.state {
            PendingState::Failed { error } => Some(describe_failure(&pending.planned, error)),
            PendingState::Waiting | PendingState::Stopped => None,
        });
    let reasons: Vec<String> = reasons.collect();
    task.attention.retain(|reason| reasons.contains(reason));
}

/// How a failed effect is described to the user.
fn describe_failure(planned: &PlannedEffect, error: &str) -> String {
    format!("{}: {error}", planned.effect.label())
}

pub(super) fn cancel_effect(task: &mut Task, id: EffectId) {
    if let Some(pending) = take_pending(task, id) {
        revert_expected_result(task, &pending.planned);
        lower_attention(task, &pending);
    }
}

/// Removes the reason of a failed effect from the attention list, because the effect is retried or
/// cancelled.
fn lower_attention(task: &mut Task, pending: &PendingEffect) {
    if let PendingState::Failed { error } = &pending.state {
        let reason = describe_failure(&pending.planned, error);
        task.attention.retain(|known| *known != reason);
    }
}

/// Reverts the expected result of starting an agent or acquiring a workspace, because it will not
/// happen.
fn revert_expected_result(task: &mut Task, planned: &PlannedEffect) {
    match &planned.effect {
        Effect::Spawn(spawn) => {
            let starting = task
                .runs
                .get(&spawn.role)
                .is_some_and(|run| run.id == spawn.run && run.state == RunState::Starting);
            if starting {
                task.runs.remove(&spawn.role);
            }
        }
        Effect::AcquireWorkspace { .. } if task.workspace == Workspace::Acquiring => {
            task.workspace = Workspace::None;
        }
        _ => {}
    }
}

pub(super) fn stop_effect(task: &mut Task, id: EffectId) {
    if let Some(index) = position(task, id) {
        task.pending[index].state = PendingState::Stopped;
        let planned = task.pending[index].planned.clone();
        revert_expected_result(task, &planned);
    }
}

pub(super) fn retry_effect(task: &mut Task, id: EffectId) {
    if let Some(index) = position(task, id) {
        let failed = task.pending[index].clone();
        lower_attention(task, &failed);
        task.pending[index].state = PendingState::Waiting;
        apply_expected_result(task, &failed.planned);
    }
}

fn take_pending(task: &mut Task, id: EffectId) -> Option<PendingEffect> {
    position(task, id).map(|index| task.pending.remove(index))
}

fn position(task: &Task, id: EffectId) -> Option<usize> {
    task.pending
        .iter()
        .position(|pending| pending.planned.id == id)
}
