//! Shows an agent to a person.

use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::{Driver, DriverError};
use crate::effects::command::{CommandError, Invocation};
use crate::effects::tmux::Observation;

/// The way to an agent's terminal.
#[derive(Clone, Debug)]
pub struct Showing {
    command: Invocation,
    /// Whether one tmux will run inside another, which has a detach key of its own.
    pub is_nested: bool,
}

impl Showing {
    /// Becomes the client that shows the agent; returns only when that fails.
    pub fn begin(&self) -> CommandError {
        self.command.exec()
    }
}

impl Driver {
    /// How an agent is shown: the person's client is turned to it, or becomes one.
    ///
    /// Without a role it is the agent that the present status expects, else any that is there.
    pub fn attach(&self, task: &TaskId, role: Option<&Role>) -> Result<Showing, DriverError> {
        let mut store = self.store()?;
        let stored = store.require(task)?;
        let workflow = super::step::pinned(&stored)?;
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
        let nobody = |reason: String| DriverError::NobodyThere {
            task: task.clone(),
            reason,
        };
        let Some(run) = chosen else {
            return Err(nobody(String::from("no agent of it is there")));
        };
        let (observation, pane) = self.look_at(&mut store, &stored.task, &run.id)?;
        match (observation, pane) {
            // A dead agent's pane still shows what it said last.
            (Observation::Alive | Observation::Dead(_), Some(pane)) => {
                let attach = self.tmux.attach(&pane, &self.environment);
                Ok(Showing {
                    command: attach.command,
                    is_nested: attach.is_nested,
                })
            }
            (Observation::Unknown(why), _) => Err(nobody(why)),
            (_, None) => Err(nobody(String::from("its pane is gone"))),
        }
    }
}
