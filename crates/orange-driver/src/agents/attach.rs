//! Attaches the user's terminal to an agent.

use orange_effects::command::{CommandError, CommandExit, Invocation};
use orange_effects::tmux::Observation;
use orange_engine::Workflow;
use orange_engine::evidence::Evidence;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;

use crate::DriverError;
use crate::agents::Agents;
use crate::agents::permission::leave_requests_to_terminal;
use crate::error::NextStep;

/// How to reach an agent's terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTerminal {
    command: Invocation,
    /// Whether the user is already in orange's tmux, so that its client only switches the session.
    pub is_switch: bool,
    /// Whether orange's tmux will run inside another tmux; each has its own detach key.
    pub is_nested: bool,
}

impl AgentTerminal {
    /// Replaces this process with the client that shows the agent; returns only when that fails.
    pub fn exec(&self) -> CommandError {
        self.command.exec(None)
    }
}

impl Agents {
    /// Shows the agent in this terminal until the user leaves it; then this process continues.
    pub fn show(&self, terminal: &AgentTerminal) -> Result<(), DriverError> {
        if let CommandExit::Signal(_) = terminal.command.run_in_terminal()? {
            self.context.tmux.await_killed_clients();
        }
        Ok(())
    }

    /// How to show an agent: switch the user's tmux client to it, or become a client.
    ///
    /// Without a role it picks the agent that the current status expects, else any that exists.
    pub fn attach(&self, task: &TaskId, role: Option<&Role>) -> Result<AgentTerminal, DriverError> {
        let mut store = self.context.store()?;
        let stored = store.require(task)?;
        let workflow = crate::steps::pinned_workflow(&stored)?;
        let state = workflow.state(&stored.task.status);
        let expected = state.map(|state| state.expects.as_slice());
        let runs = &stored.task.runs;
        let chosen = if let Some(role) = role {
            runs.get(role)
        } else {
            let mut expected = expected.unwrap_or_default().iter();
            let first = expected.find_map(|role| runs.get(role));
            first.or_else(|| runs.values().next())
        };
        let no_agent = |reason: String, next_step: NextStep| DriverError::NoAgent {
            task: task.clone(),
            reason,
            next_step,
        };
        let hint = next_step(&workflow, &stored.task.status, role);
        let Some(run) = chosen else {
            require_role(&workflow, task, role)?;
            return Err(no_agent(
                String::from("no agent is running for this task"),
                hint,
            ));
        };
        if run.state.is_stopped() {
            let reason = format!("its agent {}", Evidence::Stopped);
            return Err(no_agent(reason, hint));
        }
        let (observation, pane) = self.check_run(&mut store, &stored.task, &run.id)?;
        match (observation, pane) {
            // tmux has nothing left to show.
            (Observation::Dead(evidence @ (Evidence::Closed | Evidence::Environment)), _) => {
                Err(no_agent(format!("its agent {evidence}"), hint))
            }
            // A dead agent's pane still shows its last output.
            (Observation::Alive | Observation::Dead(_), Some(pane)) => {
                let project = &stored.task.project;
                let directory = self.context.run_directory(project, task, &run.id)?;
                leave_requests_to_terminal(&directory);
                let attach = self.context.tmux.attach(&pane, &self.context.environment);
                Ok(AgentTerminal {
                    command: attach.command,
                    is_switch: attach.is_switch,
                    is_nested: attach.is_nested,
                })
            }
            (Observation::Unknown(why), _) => Err(no_agent(why, NextStep::Inspect)),
            (_, None) => Err(no_agent(String::from("its pane is gone"), hint)),
        }
    }
}

/// Fails for a role that the workflow starts no agent for.
pub(super) fn require_role(
    workflow: &Workflow,
    task: &TaskId,
    role: Option<&Role>,
) -> Result<(), DriverError> {
    let roles = workflow.agent_roles();
    match role {
        Some(role) if !roles.contains(role) => Err(DriverError::RoleUnknown {
            task: task.clone(),
            role: role.clone(),
            roles,
        }),
        _ => Ok(()),
    }
}

/// What the user can run to get an agent in the current status, if anything.
pub(super) fn next_step(workflow: &Workflow, status: &Status, role: Option<&Role>) -> NextStep {
    let respawn = workflow.state(status).map(|state| &state.respawn);
    let can_respawn = respawn.is_some_and(|respawn| match role {
        Some(role) => respawn.contains_key(role),
        None => !respawn.is_empty(),
    });
    let starts = workflow.verbs.get(&Verb::Spawn);
    let mut edges = workflow.edges_from(status);
    let can_spawn = edges.any(|edge| {
        edge.trigger == Trigger::Request && starts.is_some_and(|to| to.contains(&edge.to))
    });
    match role {
        role if can_respawn => NextStep::Respawn(role.cloned()),
        None if can_spawn => NextStep::Spawn,
        _ => NextStep::Inspect,
    }
}
