//! The exit codes of `orange`.
//!
//! Scripts and agents rely on them; `docs/errors.md` explains them to users.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// The command succeeded, or the reader of its answer closed the pipe.
    Ok,
    /// An unexpected error.
    Unexpected,
    /// The command line or an `ORANGE_*` variable is invalid.
    Usage,
    /// The request was understood, but is not possible now.
    Refused,
    /// A task, project, file or other thing that the command names does not exist.
    NotFound,
    /// Not finished yet; repeating the command reports the result.
    Busy,
    /// A program that orange called has failed.
    ExternalFailed,
    /// Interrupted from the keyboard (SIGINT).
    Interrupted,
    /// Terminated from outside (SIGTERM).
    Terminated,
    /// The agent that `orange exec-run` ran in a sandbox, or the call that was made outside of one,
    /// ended with this code.
    Other(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Unexpected => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::NotFound => 4,
            Exit::Busy => 5,
            Exit::ExternalFailed => 6,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::Other(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
