//! Prepares a worktree: included files, setup, and teardown.
//!
//! Scripts come from the user's own configuration or from the policy that the user allowed, never
//! from what the repository says now. A script may run twice, because the process that runs it may
//! be killed; processes that an earlier attempt left running are ended first.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use orange_config::clock;
use orange_config::{Project, ProjectScript};
use orange_effects::command::CommandExit;
use orange_effects::git::{Git, Worktree};
use orange_effects::process::{self, ProcessError};
use orange_engine::Task;
use orange_engine::names::RunId;
use orange_engine::task::{Run, RunState};
use orange_store::{TaskDirectory, WorkspaceRecord};

use crate::DriverError;
use crate::context::script_runs::{SETUP, TEARDOWN};
use crate::failure::Failure;
use crate::workspaces::Workspaces;
use crate::workspaces::command::DEFAULT_TIMEOUT;

/// How many names a message lists.
const MAX_NAMES: usize = 5;

/// A script of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Runs before a task's agents start.
    Setup,
    /// Runs after the agents have ended, before the workspace is released.
    Teardown,
}

impl Script {
    fn name(self) -> &'static str {
        match self {
            Script::Setup => SETUP,
            Script::Teardown => TEARDOWN,
        }
    }
}

/// The first names of a list, for a message.
fn first_names(paths: &[PathBuf]) -> String {
    let names = paths.iter().take(MAX_NAMES);
    let names = names.map(|path| path.to_string_lossy().escape_debug().to_string());
    let names: Vec<String> = names.collect();
    format!("`{}`", names.join("`, `"))
}

impl Workspaces {
    /// Copies the files that `.worktreeinclude` names; returns notices about those it did not copy.
    /// While no agent works there, an unchanged copy is replaced by the current file.
    pub(crate) fn include_files(
        &self,
        git: &Git,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
        worktree: &Worktree<'_>,
    ) -> Result<Vec<String>, Failure> {
        let checkout = git.worktree(&project.path).map_err(Failure::temporary)?;
        let incoming = self.context.home.incoming().join(workspace.name.as_str());
        // A run that is being started waits for this.
        let is_busy = |run: &Run| matches!(run.state, RunState::Alive | RunState::Ending);
        let is_alone = !task.runs.values().any(is_busy);
        let included = worktree.include(&checkout, &incoming, is_alone);
        let included = included.map_err(Failure::temporary)?;
        let mut notices = Vec::new();
        if !included.left_out.is_empty() {
            notices.push(format!(
                "{} files of `.worktreeinclude` were not copied ({}): git does not ignore them on \
                 this branch, or a link blocks the path",
                included.left_out.len(),
                first_names(&included.left_out)
            ));
        }
        if !included.changed.is_empty() {
            notices.push(format!(
                "{} of `.worktreeinclude` changed in your checkout, but also in {}, where the old \
                 file stays; remove it there to get yours at the next start",
                first_names(&included.changed),
                workspace.name
            ));
        }
        Ok(notices)
    }

    /// Runs a script of the project in a workspace, with its output in a log of the task.
    pub(crate) fn run_script(
        &self,
        script: Script,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
    ) -> Result<(), Failure> {
        let found = match script {
            Script::Setup => self.context.setup_script(project),
            Script::Teardown => self.context.teardown_script(project),
        };
        let ProjectScript { command, timeout } = found.map_err(Failure::permanent)?;
        if command.is_empty() {
            return Ok(());
        }
        let seconds = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let (log, file) = self.script_log(script.name(), task, &format!("{command:?}"))?;
        let run = self.end_script(script, task)?;
        let finished = self
            .workflow_command(task, &command, workspace, script.name(), Some(&run))
            .map_err(Failure::temporary)?
            .timeout(Duration::from_secs(seconds))
            .run_into(file);
        let failed = |what: String| {
            Failure::permanent(format!(
                "the {} of project `{}` {what}; its output is in `{}`",
                script.name(),
                project.name,
                log.display()
            ))
        };
        match finished {
            Ok(CommandExit::Code(0)) => Ok(()),
            Ok(ending) => Err(failed(ending.to_string())),
            Err(error) => Err(failed(format!("could not be run: {error}"))),
        }
    }

    /// Ends what a script has left running; returns the run id that its processes carry.
    pub(crate) fn end_script(&self, script: Script, task: &Task) -> Result<RunId, Failure> {
        let ended = self.end_remaining(script.name(), task);
        ended.map_err(Failure::temporary)
    }

    /// Ends what a command for a task has left running; returns the run id that its processes
    /// carry.
    pub(crate) fn end_remaining(&self, name: &str, task: &Task) -> Result<RunId, DriverError> {
        let run = self.context.script_run(name, &task.id);
        match process::end_run_processes(&run, &[], &[], self.context.bounds.kill_timeouts) {
            Ok(_) | Err(ProcessError::Unsupported(_)) => Ok(run),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the log of a command for a task, and writes a header line for this run.
    pub(crate) fn script_log(
        &self,
        name: &str,
        task: &Task,
        command: &str,
    ) -> Result<(PathBuf, std::fs::File), Failure> {
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id);
        let directory = directory.map_err(Failure::permanent)?;
        let log = directory.path().join(format!("{name}.log"));
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(0o600).open(&log);
        let file = opened.and_then(|mut file| {
            let command = command.replace(char::is_control, " ");
            writeln!(file, "== {} {command}", clock::now())?;
            Ok(file)
        });
        let failed =
            |error| Failure::temporary(format!("cannot write `{}`: {error}", log.display()));
        file.map_err(failed).map(|file| (log.clone(), file))
    }
}
