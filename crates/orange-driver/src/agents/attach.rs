//! Shows an agent to a person.

use orange_effects::command::{CommandError, Invocation};
use orange_effects::tmux::Observation;
use orange_engine::Workflow;
use orange_engine::evidence::Evidence;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;

use crate::DriverError;
use crate::agents::Agents;
use crate::error::Way;

/// The way to an agent's terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    command: Invocation,
    /// Whether the person's own client is only turned to another session.
    pub is_switch: bool,
    /// Whether one tmux will run inside another, which has a detach key of its own.
    pub is_nested: bool,
}

impl Showing {
    /// Becomes the client that shows the agent; returns only when that fails.
    pub fn begin(&self) -> CommandError {
        self.command.exec(None)
    }

    /// Shows the agent in this terminal until the person leaves it; this process goes on after.
    pub fn run(&self) -> Result<(), DriverError> {
        self.command.run_in_terminal()?;
        Ok(())
    }
}

impl Agents {
    /// How an agent is shown: the person's client is turned to it, or becomes one.
    ///
    /// Without a role it is the agent that the present status expects, else any that is there.
    pub fn attach(&self, task: &TaskId, role: Option<&Role>) -> Result<Showing, DriverError> {
        let mut store = self.context.store()?;
        let stored = store.require(task)?;
        let workflow = crate::steps::pinned(&stored)?;
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
        let nobody = |reason: String, way: Way| DriverError::NobodyThere {
            task: task.clone(),
            reason,
            way,
        };
        let way = way(&workflow, &stored.task.status, role);
        let Some(run) = chosen else {
            return Err(nobody(String::from("no agent of it is there"), way));
        };
        let (observation, pane) = self.look_at(&mut store, &stored.task, &run.id)?;
        match (observation, pane) {
            // tmux has nothing left to show.
            (Observation::Dead(gone @ (Evidence::Closed | Evidence::Environment)), _) => {
                Err(nobody(format!("its agent {gone}"), way))
            }
            // A dead agent's pane still shows what it said last.
            (Observation::Alive | Observation::Dead(_), Some(pane)) => {
                let attach = self.context.tmux.attach(&pane, &self.context.environment);
                Ok(Showing {
                    command: attach.command,
                    is_switch: attach.is_switch,
                    is_nested: attach.is_nested,
                })
            }
            (Observation::Unknown(why), _) => Err(nobody(why, Way::Look)),
            (_, None) => Err(nobody(String::from("its pane is gone"), way)),
        }
    }
}

/// The way to an agent that the present status has, if it has one.
fn way(workflow: &Workflow, status: &Status, role: Option<&Role>) -> Way {
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
        role if can_respawn => Way::Respawn(role.cloned()),
        None if can_spawn => Way::Spawn,
        _ => Way::Look,
    }
}
