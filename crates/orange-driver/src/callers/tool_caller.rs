//! The caller that the commands of the MCP server belong to.

use orange_config::{Environment, ORANGE_HOME, ORANGE_ROLE, ORANGE_RUN_ID};
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::DriverError;
use crate::callers::Callers;
use crate::callers::identity::Identity;

/// The caller that the commands of the MCP server belong to, and the environment that shows it.
#[derive(Clone, Debug)]
pub enum ToolCaller {
    /// An agent that works on no task.
    Assistant(Environment),
    /// A run.
    Run { task: TaskId, caller: Environment },
}

impl Callers {
    /// The caller of the MCP server: the run that started it, else the assistant. It is never the
    /// user, and in a task's worktree not the worker either, because the model decides what is
    /// called.
    ///
    /// The environment has a mark in both cases. Without one, a caller that loses its connection
    /// with a run, for example because the agent's process ends, would become the user.
    pub fn tool_caller(&self) -> Result<ToolCaller, DriverError> {
        let identity = self.identify()?;
        match identity {
            Identity {
                role,
                task: Some(task),
                is_by_directory: false,
            } => {
                let environment = &self.context.environment;
                let is_marked = environment.variable(ORANGE_RUN_ID).is_some();
                let mark = (!is_marked).then_some((ORANGE_ROLE, role.as_str()));
                let caller = environment.clone().with_variables(mark);
                Ok(ToolCaller::Run { task, caller })
            }
            _ => Ok(ToolCaller::Assistant(self.assistant_environment())),
        }
    }

    fn assistant_environment(&self) -> Environment {
        let run = self.context.assistant_run();
        let home = self.context.home.path().to_string_lossy();
        let role = Role::assistant();
        let mark = [
            (ORANGE_RUN_ID, run.as_str()),
            (ORANGE_ROLE, role.as_str()),
            (ORANGE_HOME, &*home),
        ];
        self.context.environment.clone().with_variables(mark)
    }
}
