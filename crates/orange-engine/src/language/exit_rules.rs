//! Exit rules: what the death of an agent means.

use serde::Serialize;

use super::gates::Gate;
use super::problem::Position;
use super::when::When;
use crate::names::Status;
use crate::role::Role;

/// One rule; the first that matches the status and the role decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ExitRule {
    /// The status it applies to.
    pub status: Status,
    /// The role it applies to; if absent, every role the state expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Gates that must pass for the rule to match; if empty, it always matches.
    pub has_artifact: Vec<Gate>,
    /// What happens.
    pub outcome: ExitOutcome,
    /// Its position in the file.
    #[serde(skip)]
    pub at: Position,
}

/// What a matching rule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitOutcome {
    /// Takes the transition of the first case whose guard is true.
    Advance(Vec<ExitCase>),
    /// Counts a crash.
    Crash(CrashRule),
    /// Only records that the agent exited.
    MarkDead,
}

/// A target with its guard; no guard means always.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ExitCase {
    /// The guard; if absent, always true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The status it leads to.
    pub then: Status,
    /// Its position in the file.
    #[serde(skip)]
    pub at: Position,
}

/// What happens after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CrashRule {
    /// This many crashes in one status are too many; if absent, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_after: Option<i64>,
    /// The status after too many crashes; absent if the file names none and has no `stuck` state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Status>,
    /// What happens until there are too many.
    pub on_crash: OnCrash,
    /// Seconds to wait before the first respawn, doubled for each further crash.
    pub backoff: u64,
}

/// What happens to an agent that crashed, until it has crashed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// It is respawned.
    Respawn,
    /// It is shown as dead; the user decides.
    Mark,
}
