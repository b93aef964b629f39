//! Brings an agent back without a status change.

use std::collections::BTreeSet;

use super::hooks;
use super::plan_builder::PlanBuilder;
use crate::context_file::relative_path;
use crate::effect::{Effect, NotifyRole, Spawn};
use crate::event::Fact;
use crate::evidence::Evidence;
use crate::language::defaults;
use crate::language::hooks::OnError;
use crate::language::prompt::Prompt;
use crate::names::{PromptName, RunId};
use crate::refusal::Blocker;
use crate::role::Role;
use crate::routing::Split;
use crate::task::{PendingState, RunState, TransitionMessage};

/// Plans the start of an agent that has exited, or returns what is missing. The plan first kills
/// `stopped_runs`.
pub(super) fn respawn(
    steps: &mut PlanBuilder<'_>,
    by: &Role,
    role: Option<&Role>,
    delay: u64,
    stopped_runs: Vec<RunId>,
) -> Result<(), Vec<Blocker>> {
    let Some(role) = missing_role(steps, role) else {
        return Err(vec![Blocker::NoRespawn {
            role: role.cloned(),
        }]);
    };
    let mut missing = Vec::new();
    if steps.task.is_live(&role) {
        missing.push(Blocker::StillRunning { role: role.clone() });
    }
    if steps.task.is_being_notified(&role) {
        missing.push(Blocker::AlreadyStarting { role: role.clone() });
    }
    let first = steps.workflow.first_start(&role);
    let needs_workspace =
        plan(steps, &role).is_none() && first.is_none_or(|hook| !hook.without_worktree);
    if needs_workspace && !steps.task.workspace.is_held() {
        missing.push(Blocker::NoWorkspace);
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    let spawn = start_again(steps, by, &role, delay);
    let plan = steps.next_version();
    steps.kill_runs(plan, stopped_runs);
    steps.end_leftovers(plan, &role);
    if let Some(spawn) = spawn {
        steps.plan_effect(plan, Effect::Spawn(spawn), OnError::Stop);
    }
    Ok(())
}

/// Records that an agent is started again in place of whatever was planned for its role, and
/// returns the start; `None` if the status does not define one.
pub(super) fn start_again(
    steps: &mut PlanBuilder<'_>,
    by: &Role,
    role: &Role,
    delay: u64,
) -> Option<Spawn> {
    let state = steps.workflow.state(&steps.task.status)?;
    if !state.respawn.contains_key(role) {
        return None;
    }
    steps.cancel_pending(|effect, state| match effect {
        Effect::Spawn(spawn) => spawn.role == *role,
        // The message is in the inbox, and the prompt of the new run mentions it.
        Effect::NotifyRole(notify) => {
            notify.role == *role && matches!(state, PendingState::Failed { .. })
        }
        _ => false,
    });
    steps.record(Fact::AgentRespawned {
        by: by.clone(),
        role: role.clone(),
    });
    // The agent that received a message may have died before it did anything about it.
    let is_for_role = |it: &&TransitionMessage| it.received_by.as_ref().is_none_or(|it| it == role);
    let messages = steps.task.messages.iter().filter(is_for_role);
    let messages: Vec<TransitionMessage> = messages.cloned().collect();
    let mut spawn = spawn(steps, role, delay, &hooks::joined(&messages));
    if let (Some(spawn), Some(prompt)) = (&mut spawn, prompt(steps, role)) {
        let text = std::mem::take(&mut spawn.prompt);
        spawn.prompt = hooks::with_messages(prompt, text, &messages);
    }
    spawn
}

/// Whether the agent is already being brought back, for example because an exit rule has just
/// respawned it.
pub(super) fn is_starting(steps: &PlanBuilder<'_>, requested_role: Option<&Role>) -> bool {
    let is_starting = |role: &Role| pending_spawn(steps, role).is_some();
    let Some(state) = steps.workflow.state(&steps.task.status) else {
        return false;
    };
    let mut roles = state.respawn.keys();
    match requested_role {
        Some(role) => state.respawn.contains_key(role) && is_starting(role),
        None => roles.clone().all(|role| steps.task.is_live(role)) && roles.any(is_starting),
    }
}

/// Whether a start of the agent is planned without a delay; it may still wait for its harness.
pub(super) fn starts_now(steps: &PlanBuilder<'_>, role: &Role) -> bool {
    pending_spawn(steps, role).is_some_and(|spawn| spawn.delay == 0)
}

fn pending_spawn<'a>(steps: &'a PlanBuilder<'_>, role: &Role) -> Option<&'a Spawn> {
    let run = steps.task.runs.get(role);
    let run = run.filter(|run| run.state == RunState::Starting)?;
    let pending = steps.task.pending.iter();
    let mut waiting = pending.filter(|it| it.state == PendingState::Waiting);
    waiting.find_map(|pending| match &pending.planned.effect {
        Effect::Spawn(spawn) if spawn.run == run.id => Some(spawn),
        _ => None,
    })
}

/// The roles whose agents are running or about to start; a pending message can start an agent too.
pub(super) fn running_roles(steps: &PlanBuilder<'_>) -> Vec<Role> {
    let task = &steps.task;
    let state = steps.workflow.state(&task.status);
    let known = state.into_iter().flat_map(|state| state.respawn.keys());
    let all: BTreeSet<&Role> = task.runs.keys().chain(known).collect();
    let running = all
        .into_iter()
        .filter(|role| task.is_live(role) || task.is_being_notified(role));
    running.cloned().collect()
}

/// What is left of agents that were marked as stopped.
pub(super) struct StoppedAgents {
    /// The runs to kill.
    pub(super) runs: Vec<RunId>,
    /// Undelivered messages to these agents. They go to the inbox, but start no agent.
    pub(super) messages: Vec<NotifyRole>,
}

/// Records that the user stopped the agents of these roles, and cancels what would start them.
pub(super) fn mark_stopped(steps: &mut PlanBuilder<'_>, roles: &[Role]) -> StoppedAgents {
    let mut stopped = StoppedAgents {
        runs: Vec::new(),
        messages: Vec::new(),
    };
    for role in roles {
        let run = steps.task.runs.get(role);
        if let Some(run) = run
            .filter(|run| run.state.is_live())
            .map(|run| run.id.clone())
        {
            stopped.runs.push(run.clone());
            steps.record(Fact::RunEnded {
                run,
                role: role.clone(),
                evidence: Evidence::Stopped,
                output_line: None,
            });
        }
    }
    let pending = steps.task.pending.iter();
    for pending in pending.filter(|it| it.state == PendingState::Waiting) {
        if let Effect::NotifyRole(notify) = &pending.planned.effect
            && let Some(start) = notify.spawn_if_absent.as_ref()
            && roles.contains(&notify.role)
        {
            stopped.runs.push(start.run.clone());
            stopped.messages.push(NotifyRole {
                spawn_if_absent: None,
                ..notify.clone()
            });
        }
    }
    steps.cancel_pending(|effect, state| {
        let starts = match effect {
            Effect::Spawn(spawn) => roles.contains(&spawn.role),
            Effect::NotifyRole(notify) => {
                notify.spawn_if_absent.is_some() && roles.contains(&notify.role)
            }
            _ => false,
        };
        starts && *state == PendingState::Waiting
    });
    stopped
}

/// The requested role, if it can be respawned. If none is requested: the first role that can be
/// respawned and whose agent is gone, else the first role that can be respawned.
pub(super) fn missing_role(steps: &PlanBuilder<'_>, requested_role: Option<&Role>) -> Option<Role> {
    let state = steps.workflow.state(&steps.task.status)?;
    let can_respawn = |role: &&Role| state.respawn.contains_key(*role);
    if let Some(role) = requested_role {
        return can_respawn(&role).then(|| role.clone());
    }
    let is_gone = |role: &&Role| !steps.task.is_live(role);
    let expected = state.expects.iter().filter(can_respawn);
    expected
        .clone()
        .find(is_gone)
        .or_else(|| state.respawn.keys().find(is_gone))
        .or_else(|| state.respawn.keys().next())
        .cloned()
}

/// The start of an agent as the current state's `respawn` defines it, if it does.
pub(super) fn spawn(
    steps: &mut PlanBuilder<'_>,
    role: &Role,
    delay: u64,
    message: &str,
) -> Option<Spawn> {
    let workflow = steps.workflow;
    let respawn = workflow.state(&steps.task.status)?.respawn.get(role)?;
    let prompt = prompt(steps, role)?;
    let first = workflow.first_start(role);
    let harness = first.map_or_else(|| defaults::harness_of(role), |hook| hook.harness);
    let window = first.map_or_else(
        || role.to_string(),
        |hook| hooks::fill(&hook.window, steps, message),
    );
    let agent = hooks::agent(steps, harness);
    let plans = plan(steps, role).is_some();
    let run = steps.fresh_run();
    Some(Spawn {
        role: role.clone(),
        harness: agent.harness,
        model: agent.model,
        effort: agent.effort,
        permissions: respawn.permissions,
        window,
        prompt: hooks::instructions(prompt, steps, message, &run),
        run,
        headless: first.is_some_and(|hook| hook.headless),
        without_worktree: plans || first.is_some_and(|hook| hook.without_worktree),
        plans,
        delay,
    })
}

/// The same start as another run. The prompt may name a file of the run.
pub(super) fn as_run(spawn: Spawn, run: RunId) -> Spawn {
    let (old, new) = (relative_path(&spawn.run), relative_path(&run));
    Spawn {
        run,
        prompt: spawn.prompt.replace(&old, &new),
        ..spawn
    }
}

/// The prompt for respawning a role in the current status.
fn prompt<'a>(steps: &PlanBuilder<'a>, role: &Role) -> Option<&'a Prompt> {
    let workflow = steps.workflow;
    let respawn = workflow.state(&steps.task.status)?.respawn.get(role)?;
    let name = plan(steps, role).unwrap_or(&respawn.prompt);
    workflow.prompts.get(name)
}

/// The prompt of a run that plans how to split the task, if the task still waits for that plan.
fn plan<'a>(steps: &PlanBuilder<'a>, role: &Role) -> Option<&'a PromptName> {
    let workflow = steps.workflow;
    let task = &steps.task;
    let previous = task.runs.get(role);
    let plans = task.routing.split == Split::Wanted && previous.is_none_or(|run| run.plans);
    workflow.plan_prompt(role).filter(|_| plans)
}
