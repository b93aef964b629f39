//! Commands of a workflow or a project, in a workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;

use orange_config::{
    ORANGE_EFFECT_ID, ORANGE_HOME, ORANGE_PORT_OFFSET, ORANGE_RUN_ID, ORANGE_TASK_ID,
};
use orange_effects::command::Invocation;
use orange_engine::Task;
use orange_engine::names::RunId;
use orange_store::WorkspaceRecord;

use super::sandbox::task_commands::TaskCommand;
use crate::DriverError;
use crate::workspaces::Workspaces;

/// The default timeout in seconds for a workflow's command or a project's script.
pub(crate) const DEFAULT_TIMEOUT: u64 = 600;

impl Workspaces {
    /// A command of a workflow, in a sandbox if the agents have one. Its variables name the task
    /// and the effect, so that the command is recognized when it calls orange, and its processes
    /// are found by the run.
    pub(crate) fn workflow_command(
        &self,
        task: &Task,
        command: &[String],
        workspace: &WorkspaceRecord,
        effect: &str,
        run: Option<&RunId>,
    ) -> Result<Invocation, DriverError> {
        let (program, arguments) = match command.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("", &[][..]),
        };
        let offset = self.require_port_offset(&workspace.name)?;
        let mut variables = self.command_variables(task, effect, run);
        variables.insert(ORANGE_PORT_OFFSET.into(), offset.to_string().into());
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        let command = TaskCommand {
            program,
            arguments,
            directory: &workspace.path,
            variables,
        };
        self.command_in_workspace(task, project, workspace, command)
    }

    /// The variables of a program that runs for a task; they name the task, the effect and the run.
    pub(crate) fn command_variables(
        &self,
        task: &Task,
        effect: &str,
        run: Option<&RunId>,
    ) -> BTreeMap<OsString, OsString> {
        let mut variables = self.context.environment.passed_variables([]);
        for (name, value) in [
            (ORANGE_TASK_ID, task.id.as_str().into()),
            (ORANGE_EFFECT_ID, effect.into()),
            (ORANGE_HOME, self.context.home.path().as_os_str().to_owned()),
        ] {
            variables.insert(name.into(), value);
        }
        if let Some(run) = run {
            variables.insert(ORANGE_RUN_ID.into(), run.as_str().into());
        }
        variables
    }
}
