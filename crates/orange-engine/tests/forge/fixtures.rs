//! Ordinary values that tests change.

use orange_engine::forge::account::Account;
use orange_engine::forge::checks::{Check, CheckOutcome, ChecksReading, RepositoryChecks, Rollup};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{Mergeability, PullRequest, ReviewDecision};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId};
use orange_engine::time::Timestamp;

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

pub fn commit(name: &str) -> CommitId {
    CommitId::new(name)
}

pub fn person(name: &str) -> Account {
    Account::new(name, false)
}

/// A pull request that can be merged.
pub fn pull_request() -> PullRequest {
    PullRequest {
        id: String::from("PR_1"),
        number: 1,
        state: PullRequestState::Open,
        is_draft: false,
        head: commit("aaa"),
        base: BranchName::new("main"),
        mergeability: Knowledge::Known(Mergeability::Clean),
        is_blocked: Knowledge::Known(false),
        review: Knowledge::Known(ReviewDecision::Approved),
        rollup: Knowledge::Known(Rollup::Success),
        is_queued: false,
        updated: at(0),
    }
}

pub fn check(name: &str, outcome: CheckOutcome) -> Check {
    Check {
        group: String::from("ci"),
        name: name.to_owned(),
        outcome,
        is_required: false,
        started: Some(at(0)),
    }
}

/// What was read about the checks of `aaa`, which was pushed at 0.
pub fn reading(checks: Vec<Check>) -> ChecksReading {
    ChecksReading {
        commit: commit("aaa"),
        checks,
        is_complete: true,
        rollup: Knowledge::Unknown,
        required: Knowledge::None,
        repository: RepositoryChecks::Unknown,
        pushed: at(0),
    }
}
