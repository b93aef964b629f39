//! Why an agent's process is considered dead.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How a run ended; only hard evidence counts, a failed probe is no death.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Evidence {
    /// It ended by itself.
    Exit {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// The system ran out of memory.
    OutOfMemory,
    /// Somebody closed its window or session.
    Closed,
    /// The tmux server or the machine went away, and the process with it.
    Environment,
    /// The harness has no quota left.
    Quota {
        /// When it has again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The harness is not logged in.
    Login,
    /// The service behind the harness had too much to do.
    Overloaded,
    /// The harness's program does not exist.
    MissingProgram,
}

impl Evidence {
    /// Whether the agent itself failed, so that the death counts as a crash.
    pub fn is_the_agents_own(&self) -> bool {
        matches!(
            self,
            Evidence::Exit { .. }
                | Evidence::Signal { .. }
                | Evidence::OutOfMemory
                | Evidence::Overloaded
                | Evidence::Closed
        )
    }

    /// Whether every other agent of the harness would end the same way: nothing is started on it
    /// until that has changed.
    pub fn is_the_harnesses(&self) -> bool {
        matches!(self, Evidence::Quota { .. } | Evidence::Login)
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Exit { code } => write!(formatter, "exited with code {code}"),
            Evidence::Signal { signal } => write!(formatter, "was ended by signal {signal}"),
            Evidence::OutOfMemory => formatter.write_str("ran out of memory"),
            Evidence::Closed => formatter.write_str("had its window closed"),
            Evidence::Environment => formatter.write_str("went away with its tmux server"),
            Evidence::Quota { until: None } => formatter.write_str("has no quota left"),
            Evidence::Quota { until: Some(until) } => {
                write!(formatter, "has no quota left until {until}")
            }
            Evidence::Login => formatter.write_str("is not logged in"),
            Evidence::Overloaded => {
                formatter.write_str("was turned away by a service with too much to do")
            }
            Evidence::MissingProgram => formatter.write_str("is not installed"),
        }
    }
}
