//! Why an agent could not be started in its sandbox.

use std::io;

/// Why the last process before an agent or a program could not become it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfineFailure {
    /// Whether the program does not exist.
    pub is_missing: bool,
    pub message: String,
}

/// Why an agent could not be started in its sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The agent's program could not be started; said as without a sandbox.
    #[error("{message}")]
    NotStarted {
        /// Whether the program does not exist.
        is_missing: bool,
        message: String,
    },
    /// bwrap said why on its standard error.
    #[error("bwrap exited with code {0} before the agent was started; `orange doctor` says more")]
    Bwrap(i32),
    /// `sandbox-init` said why on its standard error.
    #[error("the sandbox ended with code {0} before the agent was started")]
    Init(i32),
    #[error("cannot {what} for the sandbox: {error}")]
    System {
        what: &'static str,
        error: io::Error,
    },
    /// This system has no sandbox for orange.
    #[error("this system has no sandbox for orange; set `sandbox.mode` to \"off\"")]
    Unsupported,
}

impl SandboxError {
    /// Whether the agent's program does not exist.
    pub fn is_missing_program(&self) -> bool {
        matches!(
            self,
            SandboxError::NotStarted {
                is_missing: true,
                ..
            }
        )
    }
}
