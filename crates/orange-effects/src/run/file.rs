//! The run file: everything a pane needs to start the agent.
//!
//! tmux gets the path of this file and nothing else. The file holds the run's secret, so only the
//! user may read it; a file that others could have read or written is refused, and the file is
//! removed when the agent starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orange_config::ORANGE_RUN_PROOF;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use serde::{Deserialize, Serialize};

use super::raw_text::RawText;
use crate::private_file::{self, PrivateFileError};
use crate::sandbox::Description;

/// The version of the format; any other is refused.
const SCHEMA: &str = "orange.run/2";

/// Upper bound on a run file: the system passes no more than this to a program.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// What a pane reads before it starts the agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    schema: String,
    pub run: RunId,
    pub task: TaskId,
    pub role: Role,
    /// The absolute path of the program.
    pub program: RawText,
    pub arguments: Vec<RawText>,
    /// The agent's whole environment, apart from the variables that come from its pane.
    pub environment: BTreeMap<String, RawText>,
    /// The working directory.
    pub directory: RawText,
    /// The file that holds the agent's prompt.
    pub prompt_file: RawText,
    /// The open-file limit; `None` keeps the pane's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// The file that the agent's output is appended to; `None` leaves the output in the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<RawText>,
    /// Whether the agent can be frozen, which it cannot be as the process of its pane.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freezable: bool,
    /// The sandbox around the agent; `None` starts it without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Description>,
}

/// Why a run file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFileError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// It is not a valid run file.
    #[error("cannot use `{}` as a run file: {reason}; `orange task respawn` writes a new one", .path.display())]
    Garbled {
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A value contains a NUL, which the system cannot pass to a program.
    #[error("cannot start run `{run}`: {what} contains a NUL character; remove it")]
    HasNul {
        run: RunId,
        /// The argument, variable or path that contains the NUL.
        what: String,
    },
}

/// The contents of a run file.
pub struct RunParts {
    pub run: RunId,
    pub task: TaskId,
    pub role: Role,
    pub program: RawText,
    pub arguments: Vec<RawText>,
    pub environment: BTreeMap<String, RawText>,
    pub directory: RawText,
    pub prompt_file: RawText,
    pub open_files: Option<u64>,
    pub output: Option<RawText>,
    pub freezable: bool,
    pub sandbox: Option<Description>,
}

impl RunFile {
    /// Fails if a part contains a NUL, which cannot be passed to a program.
    pub fn new(parts: RunParts) -> Result<Self, RunFileError> {
        let file = Self {
            schema: SCHEMA.to_owned(),
            run: parts.run,
            task: parts.task,
            role: parts.role,
            program: parts.program,
            arguments: parts.arguments,
            environment: parts.environment,
            directory: parts.directory,
            prompt_file: parts.prompt_file,
            open_files: parts.open_files,
            output: parts.output,
            freezable: parts.freezable,
            sandbox: parts.sandbox,
        };
        let run = &file.run;
        let nul_error = |what: String| RunFileError::HasNul {
            run: run.clone(),
            what,
        };
        if file.program.has_nul() || file.directory.has_nul() {
            return Err(nul_error("its program or directory".to_owned()));
        }
        if let Some(index) = file.arguments.iter().position(RawText::has_nul) {
            return Err(nul_error(format!("argument {}", index + 1)));
        }
        let is_invalid = |(name, value): &(&String, &RawText)| {
            name.is_empty() || name.contains(['\0', '=']) || value.has_nul()
        };
        if let Some((name, _)) = file.environment.iter().find(is_invalid) {
            return Err(nul_error(format!("the variable `{}`", name.escape_debug())));
        }
        Ok(file)
    }

    /// The secret that proves the run's identity.
    pub fn proof(&self) -> Option<&str> {
        let proof = self.environment.get(ORANGE_RUN_PROOF)?;
        proof.as_os_str().to_str()
    }

    /// Writes it atomically, readable only by the user.
    pub fn write(&self, path: &Path) -> Result<(), RunFileError> {
        let json = serde_json::to_vec(self).map_err(|error| garbled(path, &error))?;
        Ok(private_file::write_unsynced(path, &json)?)
    }

    /// Reads a run file and removes it: the process that starts the agent is the last to need the
    /// secret and the variables, and on disk every other agent could read them.
    pub fn take(path: &Path) -> Result<Self, RunFileError> {
        let file = Self::read(path)?;
        private_file::remove(path)?;
        Ok(file)
    }

    /// Reads a run file, provided that no other user could have read or written it.
    pub fn read(path: &Path) -> Result<Self, RunFileError> {
        let bytes = private_file::read(path, MAX_BYTES)?;
        let file: Self = serde_json::from_slice(&bytes).map_err(|error| garbled(path, &error))?;
        if file.schema == SCHEMA {
            return Ok(file);
        }
        let reason = format!("its schema is `{}`, not `{SCHEMA}`", file.schema);
        Err(RunFileError::Garbled {
            path: path.to_owned(),
            reason,
        })
    }
}

/// Reports where the error is but not the text there, which may contain the secret.
fn garbled(path: &Path, error: &serde_json::Error) -> RunFileError {
    let (line, column) = (error.line(), error.column());
    let reason = match error.classify() {
        serde_json::error::Category::Data => {
            format!("line {line}, column {column} is not as expected")
        }
        _ => format!("it is not valid JSON at line {line}, column {column}"),
    };
    RunFileError::Garbled {
        path: path.to_owned(),
        reason,
    }
}

/// Shows no values, because they may be secrets.
impl std::fmt::Debug for RunFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunFile")
            .field("run", &self.run)
            .field("task", &self.task)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}
