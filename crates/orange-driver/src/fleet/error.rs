//! Why a runner cannot work for its fleet.

use std::path::PathBuf;

use orange_effects::fleet::FleetCallError;
use orange_engine::names::TaskId;

/// What was attempted, on what, and why it failed.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("cannot {attempt} at `{server}`: {source}")]
    Call {
        attempt: &'static str,
        server: String,
        source: FleetCallError,
    },
    /// Neither this version nor its neighbours send it.
    #[error("cannot {attempt} at `{server}`: the answer is not understood ({reason})")]
    Answer {
        attempt: &'static str,
        server: String,
        reason: String,
    },
    #[error("cannot use the runner's token in `{}`: {reason}", .path.display())]
    Token { path: PathBuf, reason: String },
    #[error("cannot run the runner of this home: process {pid} runs it")]
    AlreadyRunning { pid: u32 },
    #[error("cannot work as runner `{runner}`: another home was registered in its place")]
    Replaced { runner: String },
    #[error("cannot remove task `{task}`, which another machine may continue: {reason}")]
    NotRemoved { task: TaskId, reason: String },
    #[error("cannot join as `{given}`: the code is for runner `{runner}`")]
    OtherRunner { given: String, runner: String },
    #[error("cannot join `{0}`: everyone on the network could read the token")]
    NotPrivate(String),
    #[error("cannot rebuild the database of a home that belongs to a fleet")]
    NotRebuilt,
    #[error("this home belongs to no fleet")]
    NotJoined,
}

impl FleetError {
    /// What to do about it; it stands alone.
    pub fn hint(&self) -> &'static str {
        match self {
            FleetError::Call { .. } => {
                "check that the server runs and can be reached, then run the command again"
            }
            FleetError::Answer { .. } => "install the version of orange that the server has",
            FleetError::Token { .. } => "run `orange runner join` with a new token",
            FleetError::AlreadyRunning { .. } => "`orange runner status` shows what it does",
            FleetError::Replaced { .. } => {
                "if this home is the right one, run `orange runner leave`, then `orange runner join`"
            }
            FleetError::NotRemoved { .. } => {
                "the runner tries again; `orange log` shows what happened"
            }
            FleetError::OtherRunner { .. } => "run the command again with that name",
            FleetError::NotPrivate(_) => {
                "use an address that begins with `https://`, or one on this machine"
            }
            FleetError::NotRebuilt => {
                "the tasks are at the server: join it with another home; this one's worktrees and \
                 histories stay where they are. If this home has left its fleet, delete \
                 `runner/token` in it"
            }
            FleetError::NotJoined => "run `orange runner join URL` with a token of the server",
        }
    }
}
