//! What was last seen of a pull request, stored and shown.

use std::collections::BTreeSet;

use orange_config::clock;
use orange_engine::forge::checks::ChecksVerdict;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    Mergeability, PullRequest, PullRequestLink, ReviewDecision,
};
use orange_engine::input::PullRequestFacts;
use orange_engine::language::gates::{ChecksState, PullRequestState};
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;
use orange_store::{PullRequestRecord, Store};
use serde::{Deserialize, Serialize};

use crate::DriverError;
use crate::forge::ForgeFailure;

/// What was last seen of the pull request of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PullRequestSnapshot {
    /// Its number.
    pub number: u64,
    /// Where to read it.
    pub url: String,
    /// Whether it is open.
    pub state: PullRequestState,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// The commit that everything else is about.
    pub head: CommitId,
    /// The branch that it is to be merged into.
    pub base: BranchName,
    /// The checks of its commit; absent while unknown.
    pub checks: Option<ChecksSummary>,
    /// The review; absent while unknown.
    pub review: Option<ReviewSummary>,
    /// Whether it conflicts with its base; absent while unknown.
    pub is_conflicting: Option<bool>,
    /// How many points of reviewers an agent has to deal with; absent while unknown.
    pub open_points: Option<usize>,
    /// How many threads are not resolved; absent while unknown.
    pub open_threads: Option<usize>,
    /// Whether it waits in the merge queue.
    pub is_queued: bool,
}

/// The checks of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChecksSummary {
    /// What they amount to.
    pub outcome: ChecksOutcome,
    /// The checks that failed, run or are missing.
    pub names: Vec<String>,
}

/// What the checks of a commit amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChecksOutcome {
    /// All passed.
    Passing,
    /// At least one failed.
    Failing,
    /// At least one runs or is still missing.
    Pending,
    /// The repository has no checks.
    None,
}

/// The review of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewSummary {
    /// Approved.
    Approved,
    /// A reviewer requests changes.
    ChangesRequested,
    /// Required, and not given yet.
    Required,
    /// Not required.
    NotRequired,
}

/// The most important fact about a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestHeadline {
    Merged,
    Closed,
    Conflicting,
    Failing,
    /// A reviewer wants changes.
    Changes,
    /// It waits in the merge queue.
    Queued,
    Running,
    Passing,
    /// Open, and nothing is known about checks.
    Open,
}

/// What is stored: the snapshot, and what the next look needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFacts {
    #[serde(flatten)]
    pub(crate) snapshot: PullRequestSnapshot,
    /// When the head was first seen: checks need time to appear.
    pub(crate) head_since: Timestamp,
    /// Digests of the points that an agent was given.
    #[serde(default)]
    pub(crate) handled: BTreeSet<String>,
    /// The commit that orange put into the merge queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) enqueued: Option<CommitId>,
}

impl StoredFacts {
    /// What was last seen of a task's pull request. An unreadable row is as good as none.
    pub(crate) fn load(store: &Store, task: &TaskId) -> Result<Option<StoredFacts>, DriverError> {
        let record = store.pull_request(task)?;
        Ok(record.and_then(|it| serde_json::from_str(&it.facts).ok()))
    }

    /// The facts for gates, as far as they are stored.
    pub(crate) fn facts(&self) -> PullRequestFacts {
        let snapshot = &self.snapshot;
        PullRequestFacts {
            state: snapshot.state,
            head: snapshot.head.clone(),
            is_draft: snapshot.is_draft,
            checks: match snapshot.checks.as_ref().map(|it| it.outcome) {
                Some(ChecksOutcome::Passing) => Knowledge::Known(ChecksState::Passing),
                Some(ChecksOutcome::Failing) => Knowledge::Known(ChecksState::Failing),
                Some(ChecksOutcome::Pending) => Knowledge::Known(ChecksState::Pending),
                Some(ChecksOutcome::None) => Knowledge::None,
                None => Knowledge::Unknown,
            },
            review: match snapshot.review {
                Some(ReviewSummary::Approved) => Knowledge::Known(ReviewDecision::Approved),
                Some(ReviewSummary::ChangesRequested) => {
                    Knowledge::Known(ReviewDecision::ChangesRequested)
                }
                Some(ReviewSummary::Required) => Knowledge::Known(ReviewDecision::Required),
                Some(ReviewSummary::NotRequired) => Knowledge::None,
                None => Knowledge::Unknown,
            },
            mergeable: snapshot.is_conflicting.map(|it| !it),
            open_threads: snapshot.open_threads,
        }
    }

    /// Stores the facts if they are new; returns whether they were.
    pub(crate) fn save(
        &self,
        store: &mut Store,
        task: &TaskId,
        link: &PullRequestLink,
    ) -> Result<bool, ForgeFailure> {
        let facts = serde_json::to_string(self).map_err(|error| {
            ForgeFailure::Unclear(format!("the facts cannot be written: {error}"))
        })?;
        let record = PullRequestRecord {
            id: link.id.clone(),
            number: link.number,
            head: self.snapshot.head.clone(),
            facts,
            as_of: clock::now(),
        };
        let is_new = store.record_pull_request(task, &record);
        Ok(is_new.map_err(DriverError::from)?)
    }
}

/// What the details of a pull request showed.
pub(crate) struct Findings<'a> {
    pub(crate) checks: &'a Knowledge<ChecksVerdict>,
    pub(crate) open_points: Knowledge<usize>,
    pub(crate) open_threads: Knowledge<usize>,
}

impl PullRequestSnapshot {
    pub fn headline(&self) -> PullRequestHeadline {
        match self.state {
            PullRequestState::Merged => return PullRequestHeadline::Merged,
            PullRequestState::Closed => return PullRequestHeadline::Closed,
            PullRequestState::Open => {}
        }
        if self.is_conflicting == Some(true) {
            return PullRequestHeadline::Conflicting;
        }
        let checks = self.checks.as_ref().map(|it| it.outcome);
        if checks == Some(ChecksOutcome::Failing) {
            return PullRequestHeadline::Failing;
        }
        let has_points = self.open_points.is_some_and(|it| it > 0);
        if has_points || self.review == Some(ReviewSummary::ChangesRequested) {
            return PullRequestHeadline::Changes;
        }
        if self.is_queued {
            return PullRequestHeadline::Queued;
        }
        match checks {
            Some(ChecksOutcome::Pending) => PullRequestHeadline::Running,
            Some(ChecksOutcome::Passing) => PullRequestHeadline::Passing,
            Some(ChecksOutcome::None | ChecksOutcome::Failing) | None => PullRequestHeadline::Open,
        }
    }

    pub(crate) fn new(
        link: &PullRequestLink,
        pull_request: &PullRequest,
        findings: &Findings<'_>,
    ) -> PullRequestSnapshot {
        let count = |known: Knowledge<usize>| match known {
            Knowledge::Known(count) => Some(count),
            Knowledge::None => Some(0),
            Knowledge::Unknown => None,
        };
        PullRequestSnapshot {
            number: link.number,
            url: link.url.clone(),
            state: pull_request.state,
            is_draft: pull_request.is_draft,
            head: pull_request.head.clone(),
            base: pull_request.base.clone(),
            checks: findings.checks.known().map(ChecksSummary::new),
            review: match pull_request.review {
                Knowledge::Known(ReviewDecision::Approved) => Some(ReviewSummary::Approved),
                Knowledge::Known(ReviewDecision::ChangesRequested) => {
                    Some(ReviewSummary::ChangesRequested)
                }
                Knowledge::Known(ReviewDecision::Required) => Some(ReviewSummary::Required),
                Knowledge::None => Some(ReviewSummary::NotRequired),
                Knowledge::Unknown => None,
            },
            is_conflicting: pull_request
                .mergeability
                .known()
                .map(|it| *it == Mergeability::Conflicting),
            open_points: count(findings.open_points),
            open_threads: count(findings.open_threads),
            is_queued: pull_request.is_queued,
        }
    }
}

impl ChecksSummary {
    fn new(verdict: &ChecksVerdict) -> ChecksSummary {
        let (outcome, names) = match verdict {
            ChecksVerdict::Passing { .. } => (ChecksOutcome::Passing, Vec::new()),
            ChecksVerdict::Failing { required, optional } => {
                let names = required.iter().chain(optional).cloned().collect();
                (ChecksOutcome::Failing, names)
            }
            ChecksVerdict::Pending { running } => (ChecksOutcome::Pending, running.clone()),
            ChecksVerdict::Missing { required } => (ChecksOutcome::Pending, required.clone()),
            ChecksVerdict::NoneYet => (ChecksOutcome::Pending, Vec::new()),
            ChecksVerdict::NoneConfigured => (ChecksOutcome::None, Vec::new()),
        };
        ChecksSummary { outcome, names }
    }
}
