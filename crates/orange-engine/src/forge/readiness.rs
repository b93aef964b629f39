//! What stands between a pull request and its merge, in order.

use super::checks::ChecksVerdict;
use super::knowledge::Knowledge;
use super::pull_request::{Mergeability, PullRequest, ReviewDecision};
use crate::language::gates::PullRequestState;
use crate::names::CommitId;

/// What is known about a pull request when it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The commit of the task's branch.
    pub head: &'a CommitId,
    pub pull_request: &'a PullRequest,
    /// Judged for `head`.
    pub checks: Knowledge<ChecksVerdict>,
    /// How many points of trusted people are open; `None` when there are none.
    pub open_points: Knowledge<usize>,
    /// Whether a repository without checks may be merged.
    pub allow_no_checks: bool,
}

/// The most urgent fact about a pull request. A conflict comes before checks, because the forge
/// runs no checks while there is a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concern {
    Merged,
    Closed,
    Conflicting,
    Failing(Vec<String>),
    Feedback(usize),
    /// Nothing to do but wait; says for what.
    Waiting(Vec<Wait>),
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// The forge is merging it.
    Queue,
    Checks,
    /// The repository has no checks, and the workflow wants some.
    NoChecks,
    Draft,
    Review,
    ChangesRequested,
    /// The forge blocks the merge for a reason that it does not name.
    Rule,
}

impl Concern {
    /// Whether an agent has nothing to fix and no check is running.
    pub fn is_settled(&self) -> bool {
        match self {
            Concern::Ready => true,
            Concern::Waiting(waits) => !waits.contains(&Wait::Checks),
            Concern::Merged
            | Concern::Closed
            | Concern::Conflicting
            | Concern::Failing(_)
            | Concern::Feedback(_) => false,
        }
    }
}

impl Situation<'_> {
    /// The most urgent fact; unknown if something that could be more urgent is unknown.
    pub fn concern(&self) -> Knowledge<Concern> {
        let pull_request = self.pull_request;
        match pull_request.state {
            PullRequestState::Merged => return Knowledge::Known(Concern::Merged),
            PullRequestState::Closed => return Knowledge::Known(Concern::Closed),
            PullRequestState::Open => {}
        }
        if pull_request.head != *self.head {
            return Knowledge::Unknown;
        }
        match pull_request.mergeability {
            Knowledge::Known(Mergeability::Conflicting) => {
                return Knowledge::Known(Concern::Conflicting);
            }
            Knowledge::Known(Mergeability::Clean) => {}
            Knowledge::None | Knowledge::Unknown => return Knowledge::Unknown,
        }
        let mut waits = Vec::new();
        match &self.checks {
            Knowledge::Known(ChecksVerdict::Failing { required, optional }) => {
                let names = required.iter().chain(optional).cloned().collect();
                return Knowledge::Known(Concern::Failing(names));
            }
            Knowledge::Known(ChecksVerdict::Passing { .. }) => {}
            Knowledge::Known(ChecksVerdict::NoneConfigured) if self.allow_no_checks => {}
            Knowledge::Known(ChecksVerdict::NoneConfigured) => waits.push(Wait::NoChecks),
            Knowledge::Known(_) => waits.push(Wait::Checks),
            Knowledge::None | Knowledge::Unknown => return Knowledge::Unknown,
        }
        match self.open_points {
            Knowledge::Known(count) if count > 0 => {
                return Knowledge::Known(Concern::Feedback(count));
            }
            Knowledge::Known(_) | Knowledge::None => {}
            Knowledge::Unknown => return Knowledge::Unknown,
        }
        match pull_request.review {
            Knowledge::Known(ReviewDecision::Approved) | Knowledge::None => {}
            Knowledge::Known(ReviewDecision::Required) => waits.push(Wait::Review),
            Knowledge::Known(ReviewDecision::ChangesRequested) => {
                waits.push(Wait::ChangesRequested);
            }
            Knowledge::Unknown => return Knowledge::Unknown,
        }
        if pull_request.is_draft {
            waits.push(Wait::Draft);
        }
        if pull_request.is_queued {
            waits.push(Wait::Queue);
        }
        if !waits.is_empty() {
            return Knowledge::Known(Concern::Waiting(waits));
        }
        match pull_request.is_blocked {
            Knowledge::Known(false) => Knowledge::Known(Concern::Ready),
            Knowledge::Known(true) => Knowledge::Known(Concern::Waiting(vec![Wait::Rule])),
            Knowledge::None | Knowledge::Unknown => Knowledge::Unknown,
        }
    }
}
