//! What the exit code of `orange` means.
//!
//! Scripts and agents go by these; `docs/errors.md` explains them to people.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Exit {
    /// It did what it was asked, or the reader of its answer had enough.
    Ok = 0,
    /// Something that should not happen did.
    Unexpected = 1,
    /// The command line or an `ORANGE_*` variable makes no sense.
    Usage = 2,
    /// It was understood, and something stands in the way.
    Refused = 3,
    /// What was named does not exist.
    NotFound = 4,
    /// It has not finished yet; asking again tells.
    Busy = 5,
    /// A program that orange called has failed.
    OutsideFailed = 6,
    /// Interrupted from the keyboard (SIGINT).
    Interrupted = 130,
    /// Ended from outside (SIGTERM).
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
