//! Starts the agent that a run file describes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{Environment, ORANGE_RUN_PROOF};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use super::below::run_below;
use super::file::{RunFile, RunFileError};
use super::raw_text::RawText;
use crate::command::{CommandError, Invocation};
use crate::private_file::{self, PrivateFileError};
use crate::process::set_open_file_limit;
use crate::sandbox::{AgentExit, Broker, CallPolicy, SandboxError, SandboxedRun, run_in_sandbox};

/// Why this process could not start the agent.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error(transparent)]
    Run(#[from] RunFileError),
    #[error(transparent)]
    Program(#[from] CommandError),
    /// The file that captures the agent's output could not be opened.
    #[error(transparent)]
    Output(#[from] PrivateFileError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The end of an agent below this process could not be noticed.
    #[error("cannot watch the agent: {}", orange_config::reason(.0))]
    NotWatched(std::io::Error),
}

/// Written beside the run file when the agent could not be started: the exit code alone does not
/// prove that, because it could be the agent's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecFailure {
    /// Whether the program does not exist.
    pub is_missing: bool,
    pub message: String,
}

/// Replaces this process with the agent; returns only on failure. With a sandbox, or if the agent can
/// be frozen, it runs below this process instead, and the result says how it ended.
///
/// `pane` is the environment of this process, in which tmux describes the terminal. `notify_user`
/// explains to the user why the pane stays empty when all of the agent's output goes into a file.
/// `policy` decides which calls of `orange` a sandboxed agent may make.
pub fn exec_run(
    path: &Path,
    pane: &Environment,
    notify_user: impl FnOnce(&str),
    policy: CallPolicy,
) -> Result<AgentExit, ExecError> {
    let file = RunFile::take(path)?;
    let mut environment: BTreeMap<OsString, OsString> = pane.pane_variables();
    let own = file.environment.iter();
    environment.extend(own.map(|(name, value)| (name.into(), value.0.clone())));
    if let Some(limit) = file.open_files {
        set_open_file_limit(limit);
    }
    let output = match &file.output {
        Some(output) => {
            let output = Path::new(output.as_os_str());
            let program = Path::new(file.program.as_os_str());
            let opened = private_file::append(output)?;
            notify_user(&format!(
                "{} runs headless; its output goes to {}",
                program.file_name().unwrap_or_default().display(),
                output.display()
            ));
            Some(opened)
        }
        None => None,
    };
    let Some(description) = &file.sandbox else {
        let arguments = file.arguments.iter().map(RawText::as_os_str);
        let agent = Invocation::new(file.program.as_os_str(), environment)
            .arguments(arguments)
            .directory(file.directory.as_os_str());
        let exit = if file.freezable {
            run_below(&agent, output)
        } else {
            Err(agent.exec(output).into())
        };
        if let Err(error) = &exit {
            let missing = |it: &CommandError| matches!(it, CommandError::Missing { .. });
            let is_missing = matches!(error, ExecError::Program(error) if missing(error));
            leave_note(path, is_missing, error);
        }
        return exit;
    };
    let broker = Broker {
        orange: Path::new(description.orange.as_os_str()).to_owned(),
        environment: environment.clone(),
        directory: Path::new(file.directory.as_os_str()).to_owned(),
        policy,
        secret: None,
    };
    environment.remove(OsStr::new(ORANGE_RUN_PROOF));
    let login = description.login.as_ref();
    let secret = login.and_then(|login| environment.remove(OsStr::new(&login.variable)));
    let exit = run_in_sandbox(SandboxedRun {
        description,
        program: file.program.as_os_str(),
        arguments: &file.arguments,
        directory: Path::new(file.directory.as_os_str()),
        environment,
        secret,
        folder: path.parent().unwrap_or(Path::new("/")),
        output,
        broker,
    });
    if let Err(error) = &exit {
        leave_note(path, error.is_missing_program(), error);
    }
    Ok(exit?)
}

/// Elsewhere no process can be frozen, so the agent may as well take the place of this one.
#[cfg(not(target_os = "linux"))]
fn run_below(agent: &Invocation, output: Option<std::fs::File>) -> Result<AgentExit, ExecError> {
    Err(agent.exec(output).into())
}

fn leave_note(run_file: &Path, is_missing: bool, error: &dyn std::fmt::Display) {
    let failure = ExecFailure {
        is_missing,
        message: error.to_string(),
    };
    if let Ok(json) = serde_json::to_vec(&failure) {
        // Without the note, the exit code still reports the failure.
        let _unwritten = private_file::write(&note(run_file), &json);
    }
}

/// Why the run's agent could not be started, if it could not.
pub fn exec_failure(run_file: &Path) -> Option<ExecFailure> {
    let bytes = fs::read(note(run_file)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn note(run_file: &Path) -> PathBuf {
    run_file.with_extension("failed.json")
}
