//! Brings an agent back without a change of status.

use super::hooks;
use super::steps::Steps;
use crate::effect::{Effect, Spawn};
use crate::language::defaults;
use crate::language::hooks::OnError;
use crate::refusal::Missing;
use crate::role::Role;

/// Plans the start of an agent that is gone, or says what stands in the way.
pub(super) fn bring_back(
    steps: &mut Steps<'_>,
    role: Option<&Role>,
    delay: u64,
) -> Result<(), Vec<Missing>> {
    let Some(role) = missing_role(steps, role) else {
        return Err(vec![Missing::NoRespawn {
            role: role.cloned(),
        }]);
    };
    let mut missing = Vec::new();
    if steps.task.is_live(&role) {
        missing.push(Missing::StillRunning { role: role.clone() });
    }
    if steps.task.is_being_notified(&role) {
        missing.push(Missing::OnItsWay { role: role.clone() });
    }
    if !steps.task.workspace.is_held() {
        missing.push(Missing::NoWorkspace);
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    steps.cancel_pending(|effect, _| matches!(effect, Effect::Spawn(spawn) if spawn.role == role));
    let spawn = spawn(steps, &role, delay, "");
    let plan = steps.next_version();
    steps.end_leftovers(plan, &role);
    if let Some(spawn) = spawn {
        steps.plan_effect(plan, Effect::Spawn(spawn), OnError::Stop);
    }
    Ok(())
}

/// The role that was asked for, else the first that can be brought back and is not there.
fn missing_role(steps: &Steps<'_>, asked: Option<&Role>) -> Option<Role> {
    let state = steps.workflow.state(&steps.task.status)?;
    let can = |role: &&Role| state.respawn.contains_key(*role);
    if let Some(role) = asked {
        return can(&role).then(|| role.clone());
    }
    let gone = |role: &&Role| !steps.task.is_live(role);
    let expected = state.expects.iter().filter(can);
    expected
        .clone()
        .find(gone)
        .or_else(|| state.respawn.keys().find(gone))
        .or_else(|| state.respawn.keys().next())
        .cloned()
}

/// The start that brings a role back into the present status, if the state knows how.
pub(super) fn spawn(
    steps: &mut Steps<'_>,
    role: &Role,
    delay: u64,
    message: &str,
) -> Option<Spawn> {
    let workflow = steps.workflow;
    let respawn = workflow.state(&steps.task.status)?.respawn.get(role)?;
    let prompt = workflow.prompts.get(&respawn.prompt)?;
    let first = workflow.first_start(role);
    let harness = first.map_or_else(|| defaults::harness_of(role), |hook| hook.harness);
    let window = first.map_or_else(
        || role.to_string(),
        |hook| hooks::fill(&hook.window, steps, message),
    );
    let agent = hooks::agent(steps, harness);
    Some(Spawn {
        run: steps.fresh_run(),
        role: role.clone(),
        harness: agent.harness,
        model: agent.model,
        effort: agent.effort,
        permissions: respawn.permissions,
        window,
        prompt: hooks::fill(prompt, steps, message),
        headless: first.is_some_and(|hook| hook.headless),
        delay,
    })
}
