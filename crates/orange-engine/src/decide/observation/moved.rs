//! Continues a task whose workspace and agents stayed on another machine.

use super::has_ended;
use crate::decide::plan_builder::PlanBuilder;
use crate::decide::respawn;
use crate::decide::transition;
use crate::effect::{Effect, EffectClass, EffectOutcome, NotifyRole, PlannedEffect};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::language::hooks::OnError;
use crate::names::RunId;
use crate::role::Role;
use crate::task::{PendingEffect, PendingState, Workspace};

/// Ends what stayed behind, then plans anew what the task had: its workspace, the starts that were
/// planned, and the agents that ran and that the status expects.
///
/// An agent that the user stopped, or that had ended by itself, stays ended: that the task moved is
/// no reason to start it.
pub(super) fn continue_here(steps: &mut PlanBuilder<'_>) {
    let was_bound = matches!(steps.task.workspace, Workspace::Bound(_));
    steps.record(Fact::TaskMoved);
    finish_endings(steps);
    let is_held = was_bound || steps.task.workspace.is_held();
    let needs_workspace = is_held && !has_ended(steps);
    let planned = cancel_waiting(steps, needs_workspace);
    let lost = end_runs(steps);
    let plan = steps.next_version();
    if needs_workspace && !planned.iter().any(|it| acquires(&it.effect)) {
        let acquire = Effect::AcquireWorkspace { restore: true };
        steps.plan_effect(plan, acquire, OnError::Stop);
    }
    plan_again(steps, planned, needs_workspace);
    respawn_lost(steps, plan, &lost);
    steps.settle();
}

/// What a kill or a release is for is gone with the machine, even if it had failed. If its failure
/// was all that stopped the later effects of its plan, they wait again.
fn finish_endings(steps: &mut PlanBuilder<'_>) {
    let is_ending = |pending: &&PendingEffect| {
        let effect = &pending.planned.effect;
        matches!(effect, Effect::Kill(_) | Effect::ReleaseWorkspace { .. })
    };
    let endings = steps.task.pending.iter().filter(is_ending).cloned();
    let endings: Vec<PendingEffect> = endings.collect();
    for ending in &endings {
        let effect = ending.planned.id;
        if ending.state != PendingState::Waiting {
            steps.record(Fact::EffectRetried { effect });
        }
        let outcome = EffectOutcome::Done;
        steps.record(Fact::EffectDone { effect, outcome });
    }
    for ending in endings {
        let pending = steps.task.pending.iter();
        let of_plan = pending.filter(|it| it.planned.plan == ending.planned.plan);
        let of_plan: Vec<PendingEffect> = of_plan.cloned().collect();
        let has_failed = |it: &PendingEffect| matches!(it.state, PendingState::Failed { .. });
        if of_plan.iter().any(has_failed) {
            continue;
        }
        for stopped in of_plan {
            if stopped.state == PendingState::Stopped {
                let effect = stopped.planned.id;
                steps.record(Fact::EffectRetried { effect });
            }
        }
    }
}

/// Cancels the effects that must follow the acquisition, or that would start a run that may already
/// have been started elsewhere; returns them in their order.
///
/// An effect of the class *at most once* keeps its id, by which its performer knows that it may have
/// been started; unless it provably was not, because it waited for the workspace.
fn cancel_waiting(steps: &mut PlanBuilder<'_>, needs_workspace: bool) -> Vec<PlannedEffect> {
    let pending = steps.task.pending.iter();
    let waiting = pending.filter(|it| it.state == PendingState::Waiting);
    let waiting: Vec<&PlannedEffect> = waiting.map(|it| &it.planned).collect();
    let must_follow = |it: &PlannedEffect| {
        waiting.iter().any(|first| {
            let is_first = first.plan == it.plan && first.id < it.id;
            is_first && acquires(&first.effect) && first.on_error == OnError::Stop
        })
    };
    let is_repeatable =
        |it: &PlannedEffect| it.effect.class() == EffectClass::Convergent || must_follow(it);
    let changes = |it: &&PlannedEffect| starts(&it.effect) || acquires(&it.effect);
    if !needs_workspace && !waiting.iter().any(changes) {
        return Vec::new();
    }
    let planned = waiting.iter().filter(|it| is_repeatable(it));
    let planned: Vec<PlannedEffect> = planned.map(|it| (*it).clone()).collect();
    for PlannedEffect { id, .. } in &planned {
        steps.record(Fact::EffectCancelled { effect: *id });
    }
    planned
}

fn starts(effect: &Effect) -> bool {
    match effect {
        Effect::Spawn(_) => true,
        Effect::NotifyRole(notify) => notify.spawn_if_absent.is_some(),
        _ => false,
    }
}

fn acquires(effect: &Effect) -> bool {
    matches!(effect, Effect::AcquireWorkspace { .. })
}

/// Ends the runs that are live, and returns their roles.
fn end_runs(steps: &mut PlanBuilder<'_>) -> Vec<Role> {
    let runs = steps.task.runs.iter();
    let live = runs.filter(|(_, run)| run.state.is_live());
    let live: Vec<(Role, RunId)> = live
        .map(|(role, run)| (role.clone(), run.id.clone()))
        .collect();
    for (role, run) in &live {
        steps.record(Fact::RunEnded {
            run: run.clone(),
            role: role.clone(),
            evidence: Evidence::Environment,
            output_line: None,
        });
    }
    live.into_iter().map(|(role, _)| role).collect()
}

/// Plans effects again in their plans and in their order, but the acquisition first, because a
/// start may have been planned for a workspace that stayed behind. A start gets a run of its own.
/// Left out are an acquisition that a release would have undone or that is the second one, and
/// starts of an ended task.
fn plan_again(steps: &mut PlanBuilder<'_>, planned: Vec<PlannedEffect>, needs_workspace: bool) {
    let has_ended = has_ended(steps);
    let (first, later): (Vec<_>, Vec<_>) = planned.into_iter().partition(|it| acquires(&it.effect));
    for again in first.into_iter().chain(later) {
        let effect = match again.effect {
            Effect::AcquireWorkspace { .. }
                if !needs_workspace || steps.task.workspace.is_held() =>
            {
                continue;
            }
            Effect::Spawn(_) if has_ended => continue,
            Effect::Spawn(spawn) => Effect::Spawn(respawn::as_run(spawn, steps.fresh_run())),
            Effect::NotifyRole(notify) => {
                let start = notify.spawn_if_absent.filter(|_| !has_ended);
                Effect::NotifyRole(NotifyRole {
                    spawn_if_absent: start.map(|it| respawn::as_run(it, steps.fresh_run())),
                    ..notify
                })
            }
            other => other,
        };
        steps.plan_timed_effect(again.plan, effect, again.on_error, again.timeout);
    }
}

/// Starts the agents again that ran and that the status expects.
fn respawn_lost(steps: &mut PlanBuilder<'_>, plan: u64, lost: &[Role]) {
    let state = steps.workflow.state(&steps.task.status);
    let expected = state.map_or(&[][..], |state| &state.expects);
    for role in expected {
        if !lost.contains(role) || steps.task.is_live(role) || steps.task.is_being_notified(role) {
            continue;
        }
        match respawn::start_again(steps, &Role::Engine, role, 0) {
            Some(spawn) => steps.plan_effect(plan, Effect::Spawn(spawn), OnError::Stop),
            None => transition::report_absent_agents(steps),
        }
    }
}
