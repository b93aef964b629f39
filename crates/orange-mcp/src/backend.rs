//! What the server needs from orange, as functions.

use std::ffi::OsString;
use std::fmt;

use serde_json::Value;

/// The caller of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An agent that works on no task: it reads everything, creates tasks and writes to their
    /// agents.
    Assistant,
    /// The agent of a run. The task is `None` where only the process outside of its sandbox knows
    /// it.
    Run { task: Option<String> },
}

type AudienceOf = dyn Fn() -> Result<Audience, Reply> + Send + Sync;
type RunFor = dyn Fn(&Audience, &[OsString]) -> Reply + Send + Sync;
type SchemaOf = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// The functions. Each may take long, so the server calls them on threads of their own.
pub struct Backend {
    /// The caller; an error if it cannot be identified.
    pub audience: Box<AudienceOf>,
    /// Runs a command for the caller.
    pub call: Box<RunFor>,
    /// The published schema of an answer.
    pub schema: Box<SchemaOf>,
    pub version: String,
}

impl fmt::Debug for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Backend").finish_non_exhaustive()
    }
}

/// What a command answered, in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub answer: Vec<u8>,
}
