//! The JSON report of a headless run, and what it amounts to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::HarnessName;

/// What a headless run says about itself; every field may be missing.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(default)]
pub struct Report {
    /// What it claims: `done`, `in_progress`, `blocked` or `needs_review`.
    pub status: Option<String>,
    /// What was done, in a sentence.
    pub summary: String,
    /// Why it is blocked or needs review.
    pub reason: String,
    /// What was done, item by item.
    pub accomplished: Vec<String>,
    /// What is left.
    pub remaining: Vec<String>,
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// Files that were changed.
    pub files_changed: Vec<String>,
    /// Whether a person is asked for.
    pub needs_help: bool,
    /// Child tasks that are asked for.
    pub delegations: Vec<Delegation>,
}

/// A child task that a report asks for.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(default)]
pub struct Delegation {
    /// Its summary.
    pub title: String,
    /// Its context.
    pub body: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// The harness it should run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_agent: Option<HarnessName>,
}

/// What a report amounts to, whatever it claims.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Finished.
    Done,
    /// Claims to be done, but changed no file and left something undone.
    Unfinished,
    /// Says itself that it is not finished.
    InProgress,
    /// Something stands in the way.
    Blocked,
    /// A person is asked for, or the report cannot be understood.
    NeedsReview,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 5] = [
        Outcome::Done,
        Outcome::Unfinished,
        Outcome::InProgress,
        Outcome::Blocked,
        Outcome::NeedsReview,
    ];

    /// The word a gate compares with.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Unfinished => "unfinished",
            Outcome::InProgress => "in_progress",
            Outcome::Blocked => "blocked",
            Outcome::NeedsReview => "needs_review",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Report {
    /// What the report amounts to; a claim nobody knows needs a person.
    pub fn outcome(&self) -> Outcome {
        match self.status.as_deref() {
            _ if self.needs_help => Outcome::NeedsReview,
            Some("done") if self.files_changed.is_empty() && !self.remaining.is_empty() => {
                Outcome::Unfinished
            }
            Some("done") => Outcome::Done,
            Some("in_progress") => Outcome::InProgress,
            Some("blocked") => Outcome::Blocked,
            _ => Outcome::NeedsReview,
        }
    }

    /// What went wrong, to tell a repeated error from a new one; `None` when nothing did.
    pub fn error(&self) -> Option<String> {
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            return None;
        }
        let reason = [
            self.reason.as_str(),
            &self.blockers.join("; "),
            &self.summary,
        ]
        .into_iter()
        .map(str::trim)
        .find(|text| !text.is_empty())
        .map_or_else(String::new, |text| format!(": {text}"));
        Some(format!("{outcome}{reason}"))
    }
}
