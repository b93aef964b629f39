//! Commands of a workflow or a project, in a workspace.

use orange_config::{ORANGE_EFFECT_ID, ORANGE_HOME, ORANGE_PORT_OFFSET, ORANGE_TASK_ID};
use orange_effects::command::Invocation;
use orange_engine::Task;
use orange_store::WorkspaceRecord;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The default timeout in seconds for a workflow's command or a project's script.
pub(crate) const DEFAULT_TIMEOUT: u64 = 600;

impl Workspaces {
    /// A command of a workflow. Its variables name the task and the effect, so that the command is
    /// recognized when it calls orange.
    pub(crate) fn workflow_command(
        &self,
        task: &Task,
        command: &[String],
        workspace: &WorkspaceRecord,
        effect: &str,
    ) -> Result<Invocation, DriverError> {
        let (program, arguments) = match command.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("", &[][..]),
        };
        let offset = self.require_port_offset(&workspace.name)?;
        Ok(self
            .task_command(task, program, effect)
            .variable(ORANGE_PORT_OFFSET, offset.to_string())
            .arguments(arguments)
            .directory(&workspace.path))
    }

    /// A program that runs for a task; its variables name the task and the effect.
    pub(crate) fn task_command(&self, task: &Task, program: &str, effect: &str) -> Invocation {
        let mut variables = self.context.environment.passed_variables([]);
        for (name, value) in [
            (ORANGE_TASK_ID, task.id.as_str().into()),
            (ORANGE_EFFECT_ID, effect.into()),
            (ORANGE_HOME, self.context.home.path().as_os_str().to_owned()),
        ] {
            variables.insert(name.into(), value);
        }
        Invocation::new(program, variables)
    }
}
