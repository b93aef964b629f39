//! Opens a task's worktree in a program of the user.

use std::ffi::OsStr;
use std::path::PathBuf;

use orange_config::Environment;
use orange_effects::command::{CommandExit, Invocation};
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::error::NextStep;
use crate::workspaces::Workspaces;
use crate::workspaces::repository::ready_workspace;

/// A program that opens a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Editor,
    Shell,
    Git,
}

impl Workspaces {
    /// The path of a task's worktree.
    pub fn worktree_path(&self, task: &TaskId) -> Result<PathBuf, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        if let Some(workspace) = ready_workspace(&store, &stored.task)? {
            return Ok(workspace.path);
        }
        let repository = self.repository_of(&stored.task);
        let branch = repository.and_then(|(_, git)| Ok(git.branch(&stored.task.branch)?));
        let has_branch = branch.is_ok_and(|it| it.is_some());
        let was_started = !stored.task.runs.is_empty();
        let next_step = match (has_branch, was_started, stored.has_ended()) {
            (false, false, false) => NextStep::Spawn,
            (false, false, true) => NextStep::Create,
            (false, true, false) => NextStep::Inspect,
            // The diff of a merged task needs no branch.
            (true, ..) | (_, true, true) => NextStep::Diff,
        };
        Err(DriverError::NoWorktree {
            task: task.clone(),
            next_step,
        })
    }

    /// Runs the program in the worktree, in this terminal, and waits for it.
    pub fn open_worktree(&self, task: &TaskId, tool: Tool) -> Result<CommandExit, DriverError> {
        let path = self.worktree_path(task)?;
        let settings = self.context.settings(None)?.open;
        let environment = &self.context.environment;
        let line = match tool {
            Tool::Editor => settings
                .editor
                .or_else(|| first_variable(environment, &["VISUAL", "EDITOR"]))
                .unwrap_or_else(|| String::from("vi")),
            Tool::Shell => settings
                .shell
                .or_else(|| first_variable(environment, &["SHELL"]))
                .unwrap_or_else(|| String::from("sh")),
            Tool::Git => settings.git.unwrap_or_default(),
        };
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or("sh");
        let mut command = Invocation::new(program, environment.variables().clone())
            .arguments(words)
            .directory(&path);
        if tool == Tool::Editor {
            command = command.arguments(["."]);
        }
        Ok(command.run_in_terminal()?)
    }
}

fn first_variable(environment: &Environment, names: &[&str]) -> Option<String> {
    let mut found = names.iter().filter_map(|name| environment.variable(name));
    found.next().map(OsStr::to_string_lossy).map(Into::into)
}
