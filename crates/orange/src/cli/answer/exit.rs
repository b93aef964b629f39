//! The exit codes of `orange`.
//!
//! Scripts and agents rely on them; `docs/errors.md` explains them to users.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded, or the reader of its answer closed the pipe.
    Ok = 0,
    /// An unexpected error.
    Unexpected = 1,
    /// The command line or an `ORANGE_*` variable is invalid.
    Usage = 2,
    /// The request was understood, but is not possible now.
    Refused = 3,
    /// A task, project, file or other thing that the command names does not exist.
    NotFound = 4,
    /// Not finished yet; repeating the command reports the result.
    Busy = 5,
    /// A program that orange called has failed.
    ExternalFailed = 6,
    /// Interrupted from the keyboard (SIGINT).
    Interrupted = 130,
    /// Terminated from outside (SIGTERM).
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
