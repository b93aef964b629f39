//! Runs a command of the workflow, at most once.

use std::time::Duration;

use orange_engine::Task;
use orange_engine::effect::{EffectOutcome, PlannedEffect};
use orange_store::Store;

use crate::failure::Failure;
use crate::perform::Performer;
use crate::workspaces::command::DEFAULT_TIMEOUT;

impl Performer {
    /// Runs the command in the workspace. A failure is final, because the command may have done
    /// half of its work.
    pub(crate) fn run_command(
        &self,
        store: &Store,
        task: &Task,
        planned: &PlannedEffect,
        command: &[String],
    ) -> Result<EffectOutcome, Failure> {
        let workspace = store.workspace_of(&task.id).map_err(Failure::permanent)?;
        let Some(workspace) = workspace else {
            return Err(Failure::permanent("there is no workspace to run it in"));
        };
        let seconds = planned.timeout.unwrap_or(DEFAULT_TIMEOUT);
        self.workspaces
            .workflow_command(task, command, &workspace, &planned.id.to_string(), None)
            .map_err(Failure::permanent)?
            .timeout(Duration::from_secs(seconds))
            .require_success()
            .map_err(Failure::permanent)?;
        Ok(EffectOutcome::Done)
    }
}
