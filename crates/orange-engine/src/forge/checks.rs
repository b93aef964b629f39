//! The state of a commit's checks.

use std::collections::{BTreeMap, BTreeSet};

use super::knowledge::Knowledge;
use crate::language::gates::ChecksState;
use crate::names::CommitId;
use crate::time::Timestamp;

/// How long after a push orange waits for checks in a repository that seems to have none.
pub const CHECKS_GRACE_SECONDS: u64 = 120;

/// One check of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What runs it, such as a workflow or an app; with the name it identifies the check.
    pub group: String,
    pub name: String,
    pub outcome: CheckOutcome,
    pub is_required: bool,
    /// When it started; absent while it waits.
    pub started: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckOutcome {
    Passed,
    /// It did not have to run. If it is required, the forge counts this as success.
    Skipped,
    Failed,
    Cancelled,
    Running,
    /// It is required, but has not been reported.
    Expected,
}

/// The forge's own summary of all checks of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rollup {
    Success,
    Failure,
    Pending,
    Expected,
}

/// Whether a repository has checks at all, as far as other commits show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryChecks {
    Exist,
    Absent,
    Unknown,
}

/// What was read about the checks of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecksReading {
    pub commit: CommitId,
    pub checks: Vec<Check>,
    /// Whether every page was read.
    pub is_complete: bool,
    pub rollup: Knowledge<Rollup>,
    /// The names that the base branch requires; `None` when it requires nothing.
    pub required: Knowledge<BTreeSet<String>>,
    pub repository: RepositoryChecks,
    /// When the commit was pushed.
    pub pushed: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChecksVerdict {
    Passing {
        /// Required checks that were skipped, which the forge counts as success.
        skipped: Vec<String>,
    },
    Failing {
        required: Vec<String>,
        optional: Vec<String>,
    },
    Pending {
        running: Vec<String>,
    },
    /// Required checks that nothing has reported yet.
    Missing {
        required: Vec<String>,
    },
    /// No check was reported so far, but some may come.
    NoneYet,
    /// The repository has no checks.
    NoneConfigured,
}

impl ChecksVerdict {
    /// The state that a gate compares; `None` when the repository has no checks.
    pub fn gate_state(&self) -> Option<ChecksState> {
        match self {
            ChecksVerdict::Passing { .. } => Some(ChecksState::Passing),
            ChecksVerdict::Failing { .. } => Some(ChecksState::Failing),
            ChecksVerdict::Pending { .. }
            | ChecksVerdict::Missing { .. }
            | ChecksVerdict::NoneYet => Some(ChecksState::Pending),
            ChecksVerdict::NoneConfigured => None,
        }
    }
}

impl ChecksReading {
    /// The state of the checks of `head`. Never `None`: having no checks is a verdict of its own.
    pub fn judge(&self, head: &CommitId, now: Timestamp) -> Knowledge<ChecksVerdict> {
        if self.commit != *head || !self.is_complete {
            return Knowledge::Unknown;
        }
        let latest = latest(&self.checks);
        let with = |wanted: &[CheckOutcome]| -> Vec<&Check> {
            let checks = latest.iter().filter(|it| wanted.contains(&it.outcome));
            checks.copied().collect()
        };
        let failed = with(&[CheckOutcome::Failed, CheckOutcome::Cancelled]);
        if !failed.is_empty() {
            let (required, optional) = failed.into_iter().partition(|it| self.requires(it));
            return Knowledge::Known(ChecksVerdict::Failing {
                required: names(required),
                optional: names(optional),
            });
        }
        let running = with(&[CheckOutcome::Running]);
        if !running.is_empty() {
            let running = names(running);
            return Knowledge::Known(ChecksVerdict::Pending { running });
        }
        let missing = self.missing(&latest);
        if !missing.is_empty() {
            return Knowledge::Known(ChecksVerdict::Missing { required: missing });
        }
        if latest.is_empty() {
            return self.judge_empty(now);
        }
        // Without the list of required checks, only the forge knows whether one is still missing.
        match (&self.required, self.rollup) {
            (Knowledge::Known(_) | Knowledge::None, _)
            | (Knowledge::Unknown, Knowledge::Known(Rollup::Success)) => {
                let skipped = with(&[CheckOutcome::Skipped]);
                let skipped = skipped.into_iter().filter(|it| self.requires(it));
                Knowledge::Known(ChecksVerdict::Passing {
                    skipped: names(skipped.collect()),
                })
            }
            (Knowledge::Unknown, _) => Knowledge::Unknown,
        }
    }

    fn judge_empty(&self, now: Timestamp) -> Knowledge<ChecksVerdict> {
        let is_settled = now.seconds_since(self.pushed) >= CHECKS_GRACE_SECONDS;
        let is_absent = self.repository == RepositoryChecks::Absent && !self.required.is_unknown();
        Knowledge::Known(if is_settled && is_absent {
            ChecksVerdict::NoneConfigured
        } else {
            ChecksVerdict::NoneYet
        })
    }

    fn requires(&self, check: &Check) -> bool {
        let required = self.required.known();
        check.is_required || required.is_some_and(|it| it.contains(&check.name))
    }

    fn missing(&self, latest: &[&Check]) -> Vec<String> {
        let expected = latest
            .iter()
            .filter(|it| it.outcome == CheckOutcome::Expected);
        let mut missing: BTreeSet<String> = expected.map(|it| it.name.clone()).collect();
        if let Some(required) = self.required.known() {
            let is_reported = |name: &String| latest.iter().any(|it| it.name == *name);
            missing.extend(required.iter().filter(|it| !is_reported(it)).cloned());
        }
        missing.into_iter().collect()
    }
}

/// The last run of each check: a check that was started again is reported once per run.
fn latest(checks: &[Check]) -> Vec<&Check> {
    let mut latest: BTreeMap<(&str, &str), &Check> = BTreeMap::new();
    for check in checks {
        let slot = latest.entry((&check.group, &check.name)).or_insert(check);
        // A check without a start time is still waiting, so it is the newest.
        let newer = match (check.started, slot.started) {
            (None, Some(_)) => true,
            (Some(this), Some(other)) => this > other,
            (_, None) => false,
        };
        if newer {
            *slot = check;
        }
    }
    latest.into_values().collect()
}

fn names(checks: Vec<&Check>) -> Vec<String> {
    let mut names: Vec<String> = checks.into_iter().map(|it| it.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}
