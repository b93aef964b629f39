//! Shows an agent to a person.

use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::{Driver, DriverError};
use crate::effects::command::CommandError;
use crate::effects::tmux::Observation;

impl Driver {
    /// Becomes the client that shows an agent; returns only when that fails.
    ///
    /// Without a role it is the agent that the present status expects, else any that is there.
    pub fn attach(&self, task: &TaskId, role: Option<&Role>) -> Result<CommandError, DriverError> {
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
                Ok(attach.command.exec())
            }
            (Observation::Unknown(why), _) => Err(nobody(why)),
            (_, None) => Err(nobody(String::from("its pane is gone"))),
        }
    }
}
