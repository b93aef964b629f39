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
    /// The status it is about.
    pub status: Status,
    /// The role it is about; every role the state expects when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Gates that must hold for the rule to match; none means it always matches.
    pub has_artifact: Vec<Gate>,
    /// What happens.
    pub outcome: ExitOutcome,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// What a matching rule does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitOutcome {
    /// Runs the full transition to the first case that holds.
    Advance(Vec<ExitCase>),
    /// Counts a crash.
    Crash(CrashRule),
    /// Only remembers that the agent is gone.
    MarkDead,
}

/// A target with its guard; no guard means always.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ExitCase {
    /// When it is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Where it leads.
    pub then: Status,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// What a crash leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CrashRule {
    /// This many crashes in one status are too many; never when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_after: Option<i64>,
    /// Where too many lead; absent when the file names none and has no usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Status>,
    /// What happens while they are not too many.
    pub on_crash: OnCrash,
    /// Seconds to wait before the first respawn, doubled for each further crash.
    pub backoff: u64,
}

/// What happens to an agent that crashed, but not too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// It is brought back.
    Respawn,
    /// It is shown as dead; a person decides.
    Mark,
}
