//! Why an agent's process is considered dead.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How a run ended. Only hard evidence counts: a failed check does not mean that the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Evidence {
    /// It exited.
    Exit {
        /// Its exit code.
        code: i32,
    },
    /// A signal killed it.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// The system ran out of memory.
    OutOfMemory,
    /// Its window or session was closed.
    Closed,
    /// It was headless and had finished its turn, but it did not exit.
    NoExit,
    /// The process was lost with its tmux server or its machine.
    Environment,
    /// The harness has no quota left.
    Quota {
        /// When it has quota again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The harness is not logged in.
    Login,
    /// The service behind the harness was overloaded.
    Overloaded,
    /// The service behind the harness could not be reached.
    Network,
    /// The harness's program does not exist.
    MissingProgram,
    /// The user stopped it with orange.
    Stopped,
}

impl Evidence {
    /// Whether the agent itself failed, so that the death counts as a crash.
    pub fn is_agent_failure(&self) -> bool {
        matches!(
            self,
            Evidence::Exit { .. }
                | Evidence::Signal { .. }
                | Evidence::OutOfMemory
                | Evidence::Closed
                | Evidence::NoExit
        )
    }

    /// Whether every other agent of the harness would end the same way. If so, nothing is started
    /// on the harness until that changes.
    pub fn is_harness_failure(&self) -> bool {
        self.ends_live_agents() || self.is_temporary()
    }

    /// Whether an agent that says so and waits will not continue by itself.
    pub fn ends_live_agents(&self) -> bool {
        matches!(self, Evidence::Quota { .. } | Evidence::Login)
    }

    /// Whether it usually passes within minutes, without the user.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Evidence::Overloaded | Evidence::Network)
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Exit { code } => write!(formatter, "exited with code {code}"),
            Evidence::Signal { signal } => write!(formatter, "was killed by signal {signal}"),
            Evidence::OutOfMemory => formatter.write_str("ran out of memory"),
            Evidence::Closed => formatter.write_str("had its window closed"),
            Evidence::NoExit => formatter.write_str("finished its turn but did not exit"),
            Evidence::Environment => formatter.write_str("was lost with its tmux server"),
            Evidence::Quota { until: None } => formatter.write_str("has no quota left"),
            Evidence::Quota { until: Some(until) } => {
                write!(formatter, "has no quota left until {until}")
            }
            Evidence::Login => formatter.write_str("is not logged in"),
            Evidence::Overloaded => formatter.write_str("was rejected by an overloaded service"),
            Evidence::Network => formatter.write_str("could not reach its service"),
            Evidence::MissingProgram => formatter.write_str("is not installed"),
            Evidence::Stopped => formatter.write_str("was stopped by the user"),
        }
    }
}
