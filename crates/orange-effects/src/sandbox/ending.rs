//! How an agent below `exec-run` ended.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// How the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentExit {
    Code(u8),
    Signal(i32),
}

impl From<ExitStatus> for AgentExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (_, Some(signal)) => AgentExit::Signal(signal),
            (code, None) => AgentExit::Code(code.and_then(|it| it.try_into().ok()).unwrap_or(1)),
        }
    }
}
