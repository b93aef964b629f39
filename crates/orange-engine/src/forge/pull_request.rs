//! What is known about a pull request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::checks::Rollup;
use super::knowledge::Knowledge;
use crate::language::gates::PullRequestState;
use crate::names::{BranchName, CommitId};
use crate::time::Timestamp;

/// The pull request of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct PullRequestLink {
    /// Its number.
    pub number: u64,
    /// The forge's own id, which survives a renamed repository.
    pub id: String,
    /// Where to read it.
    pub url: String,
    /// Whether its branch belongs to others, so that orange never pushes to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_outside: bool,
}

impl fmt::Display for PullRequestLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "pull request #{}", self.number)
    }
}

/// What a look at a task's pull request means for the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestReading {
    pub link: PullRequestLink,
    /// The head commit of the pull request.
    pub head: CommitId,
    /// `Merged` only if git confirms that the default branch has the merged work.
    pub state: PullRequestState,
    /// Whether the task's branch is gone, so that the end of the task can drop no work on it.
    pub is_branch_gone: bool,
    /// The most urgent concern. Absent if something that could be more urgent is unknown, or if the
    /// head is not the commit of the task's branch.
    pub concern: Option<PullRequestConcern>,
}

/// The most urgent concern about an open pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestConcern {
    pub kind: ConcernKind,
    /// What distinguishes this concern from an earlier one about the same commit, such as the
    /// commit of the base, the ids of the failed runs, or the digests of the points.
    pub details: Vec<String>,
    /// The file with the text from outside, which no agent gets in its prompt.
    pub file: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConcernKind {
    Conflicting,
    Failing {
        /// The names of the checks.
        checks: Vec<String>,
        /// Whether the forge can run them again.
        can_rerun: bool,
    },
    Feedback {
        /// A short title for each point, without text from outside.
        points: Vec<String>,
    },
    /// Nothing that an agent has to fix, and no check is running.
    Settled,
}

/// What one cheap look at a pull request shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// The forge's own id, which survives a renamed repository.
    pub id: String,
    pub number: u64,
    pub state: PullRequestState,
    pub is_draft: bool,
    pub head: CommitId,
    pub base: BranchName,
    pub mergeability: Knowledge<Mergeability>,
    /// Whether a rule of the forge keeps it from being merged, whatever the reason.
    pub is_blocked: Knowledge<bool>,
    /// `None` when no review is required.
    pub review: Knowledge<ReviewDecision>,
    /// `None` when the head has no checks so far.
    pub rollup: Knowledge<Rollup>,
    /// Whether it waits in the forge's own merge queue.
    pub is_queued: bool,
    pub updated: Timestamp,
}

/// Whether the head can be merged without conflicts; drafts and missing approvals are other facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mergeability {
    Clean,
    Conflicting,
}

/// The review of a pull request.
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
pub enum ReviewDecision {
    /// A reviewer approved it.
    Approved,
    /// A reviewer requests changes.
    ChangesRequested,
    /// A review is required and has not been given.
    Required,
}

/// The repository and the branch that the head of a pull request is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadSource {
    /// `owner/name`; absent when the fork was deleted.
    pub repository: Option<String>,
    pub branch: BranchName,
}

/// The open pull request of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchMatch<'a> {
    One(&'a PullRequest),
    None,
    /// More than one, by number.
    Ambiguous(Vec<u64>),
}

/// Finds the open pull request whose head is this branch of this repository. A branch of the same
/// name in a fork is another branch.
pub fn find_for_branch<'a>(
    candidates: &'a [(HeadSource, PullRequest)],
    repository: &str,
    branch: &BranchName,
) -> BranchMatch<'a> {
    let matches: Vec<&PullRequest> = candidates
        .iter()
        .filter(|(source, pull_request)| {
            let in_repository = source.repository.as_deref();
            in_repository.is_some_and(|it| it.eq_ignore_ascii_case(repository))
                && source.branch == *branch
                && pull_request.state == PullRequestState::Open
        })
        .map(|(_, pull_request)| pull_request)
        .collect();
    match matches.as_slice() {
        [] => BranchMatch::None,
        [one] => BranchMatch::One(one),
        several => BranchMatch::Ambiguous(several.iter().map(|it| it.number).collect()),
    }
}
