//! The run file: everything a pane needs to become the agent.
//!
//! tmux gets the path of this file and nothing else. It holds the run's secret, so nobody but the
//! user may read it, one that others could have read or written is refused, and it is removed when
//! the agent starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orange_config::ORANGE_RUN_PROOF;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use serde::{Deserialize, Serialize};

use super::raw_text::RawText;
use crate::private_file::{self, PrivateFileError};

/// The shape of the file; another one is refused.
const SCHEMA: &str = "orange.run/1";

/// No run file is larger: a program cannot be given more.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// What a pane reads before it becomes the agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    schema: String,
    pub run: RunId,
    /// The task it belongs to.
    pub task: TaskId,
    pub role: Role,
    /// The program, by its absolute path.
    pub program: RawText,
    pub arguments: Vec<RawText>,
    /// Everything it sees of the environment, besides what it takes from its pane.
    pub environment: BTreeMap<String, RawText>,
    /// Where it runs.
    pub directory: RawText,
    /// The file that holds its prompt.
    pub prompt_file: RawText,
    /// How many files it may have open; nothing leaves it as the pane has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// The file that all it prints is added to; nothing leaves it to the pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<RawText>,
}

/// Why a run file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunFileError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// It is no run file.
    #[error("cannot use `{}` as a run file: {reason}; `orange task respawn` writes a new one", .path.display())]
    Garbled {
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// No program can be given it.
    #[error("cannot start run `{run}`: {what} holds a NUL character; remove it")]
    HasNul {
        run: RunId,
        /// What holds it.
        what: String,
    },
}

/// What a run file is made from.
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
}

impl RunFile {
    /// Checks that a program can be given all of it.
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
        };
        let run = &file.run;
        let holds = |what: String| RunFileError::HasNul {
            run: run.clone(),
            what,
        };
        if file.program.has_nul() || file.directory.has_nul() {
            return Err(holds("its program or directory".to_owned()));
        }
        if let Some(index) = file.arguments.iter().position(RawText::has_nul) {
            return Err(holds(format!("argument {}", index + 1)));
        }
        let bad = |(name, value): &(&String, &RawText)| {
            name.is_empty() || name.contains(['\0', '=']) || value.has_nul()
        };
        if let Some((name, _)) = file.environment.iter().find(bad) {
            return Err(holds(format!("the variable `{}`", name.escape_debug())));
        }
        Ok(file)
    }

    /// The secret by which the run proves that it is the one.
    pub fn proof(&self) -> Option<&str> {
        let proof = self.environment.get(ORANGE_RUN_PROOF)?;
        proof.as_os_str().to_str()
    }

    /// Writes it, whole or not at all, for nobody else to read.
    pub fn write(&self, path: &Path) -> Result<(), RunFileError> {
        let json = serde_json::to_vec(self).map_err(|error| garbled(path, &error))?;
        Ok(private_file::write_for_now(path, &json)?)
    }

    /// Reads one and removes it: whoever becomes the agent is the last who needs the secret and the
    /// values of variables, and what is on the disk could be read by every other agent.
    pub fn take(path: &Path) -> Result<Self, RunFileError> {
        let file = Self::read(path)?;
        private_file::remove(path)?;
        Ok(file)
    }

    /// Reads one that nobody else could have read or written.
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

/// The place of the mistake is said, its words are not: they may hold the secret.
fn garbled(path: &Path, error: &serde_json::Error) -> RunFileError {
    let (line, column) = (error.line(), error.column());
    let reason = match error.classify() {
        serde_json::error::Category::Data => {
            format!("line {line}, column {column} is not what was expected")
        }
        _ => format!("it is no JSON from line {line}, column {column} on"),
    };
    RunFileError::Garbled {
        path: path.to_owned(),
        reason,
    }
}

/// Values may be secrets, so that none is shown.
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
