//! Whether a gate about the pull request holds.

use super::gates::GateResult;
use super::plan_builder::PlanBuilder;
use crate::forge::knowledge::Knowledge;
use crate::forge::pull_request::ReviewDecision;
use crate::input::{FactNeeded, PullRequestFacts};
use crate::language::gates::{
    ChecksState, PullRequestGate, PullRequestState, ReviewCondition, ThreadsCondition,
};
use crate::refusal::{GateFailure, PullRequestFact};

/// Judges the pull request for the branch's commit: what is known about another commit, such as an
/// approval before the last push, proves nothing.
pub(super) fn check(gate: &PullRequestGate, steps: &PlanBuilder<'_>) -> GateResult {
    let facts = steps.facts();
    let Some(known) = facts.and_then(|facts| facts.pull_request.as_ref()) else {
        return GateResult::Needs(FactNeeded::PullRequest);
    };
    let Some(found) = known else {
        return GateResult::Fails(vec![GateFailure::PullRequestMissing]);
    };
    let Some(git) = facts.and_then(|facts| facts.git.as_ref()) else {
        return GateResult::Needs(FactNeeded::Git);
    };
    let is_open = found.state == PullRequestState::Open;
    let mut failures = Vec::new();
    if let Some(wanted) = gate.state
        && found.state != wanted
    {
        let found = found.state;
        failures.push(GateFailure::PullRequestState { found, wanted });
    } else if is_open && found.head != git.head {
        failures.push(GateFailure::PullRequestHead {
            found: found.head.clone(),
            wanted: git.head.clone(),
        });
    } else {
        failures.extend(conditions(gate, found));
    }
    GateResult::from_failures(failures, || {
        let head = found.head.short();
        format!("the pull request meets the conditions (at {head})")
    })
}

fn conditions(gate: &PullRequestGate, found: &PullRequestFacts) -> Vec<GateFailure> {
    let draft = gate.draft.filter(|wanted| found.is_draft != *wanted);
    let draft = draft.map(|wanted| GateFailure::PullRequestDraft { wanted });
    let checks = gate
        .checks
        .and_then(|wanted| check_checks(found.checks, wanted, gate.allow_none));
    let review = gate
        .review
        .and_then(|wanted| check_review(found.review, wanted));
    let mergeable = gate.mergeable.and_then(|wanted| match found.mergeable {
        None => Some(unknown(PullRequestFact::Mergeable)),
        Some(found) if found == wanted => None,
        Some(_) => Some(GateFailure::PullRequestMergeable { wanted }),
    });
    let threads = gate.threads.and_then(|wanted| match wanted {
        ThreadsCondition::Resolved => match found.open_threads {
            None => Some(unknown(PullRequestFact::Threads)),
            Some(0) => None,
            Some(open) => Some(GateFailure::PullRequestThreads { open }),
        },
    });
    let all = [draft, checks, review, mergeable, threads];
    all.into_iter().flatten().collect()
}

fn check_checks(
    found: Knowledge<ChecksState>,
    wanted: ChecksState,
    allow_none: bool,
) -> Option<GateFailure> {
    let found = match found {
        Knowledge::Known(found) if found == wanted => return None,
        Knowledge::Known(found) => Some(found),
        Knowledge::None if allow_none => return None,
        Knowledge::None => None,
        Knowledge::Unknown => return Some(unknown(PullRequestFact::Checks)),
    };
    Some(GateFailure::PullRequestChecks { found, wanted })
}

fn check_review(found: Knowledge<ReviewDecision>, wanted: ReviewCondition) -> Option<GateFailure> {
    let found = match (found, wanted) {
        (Knowledge::Known(ReviewDecision::Approved), _)
        | (Knowledge::None, ReviewCondition::NoneRequired) => return None,
        (Knowledge::Known(found), _) => Some(found),
        (Knowledge::None, ReviewCondition::Approved) => None,
        (Knowledge::Unknown, _) => return Some(unknown(PullRequestFact::Review)),
    };
    Some(GateFailure::PullRequestReview { found, wanted })
}

fn unknown(fact: PullRequestFact) -> GateFailure {
    GateFailure::PullRequestUnknown { fact }
}
