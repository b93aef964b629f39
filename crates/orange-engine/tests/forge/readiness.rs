//! What comes first about a pull request.

use orange_engine::forge::checks::ChecksVerdict;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    BranchMatch, HeadSource, Mergeability, PullRequest, ReviewDecision, find_for_branch,
};
use orange_engine::forge::readiness::{Concern, Situation, Wait};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::BranchName;

use crate::fixtures::{commit, pull_request};

fn passing() -> Knowledge<ChecksVerdict> {
    Knowledge::Known(ChecksVerdict::Passing {
        skipped: Vec::new(),
    })
}

fn concern(pull_request: &PullRequest, checks: Knowledge<ChecksVerdict>) -> Knowledge<Concern> {
    Situation {
        head: &commit("aaa"),
        pull_request,
        checks,
        open_points: Knowledge::None,
        allow_no_checks: false,
    }
    .concern()
}

#[test]
fn a_clean_approved_green_pull_request_is_ready() {
    let ready = concern(&pull_request(), passing());
    assert_eq!(ready, Knowledge::Known(Concern::Ready));
}

#[test]
fn lesson_65_a_conflict_comes_before_checks() {
    let mut conflicting = pull_request();
    conflicting.mergeability = Knowledge::Known(Mergeability::Conflicting);
    let failing = Knowledge::Known(ChecksVerdict::Failing {
        required: vec![String::from("a")],
        optional: Vec::new(),
    });
    let none_yet = Knowledge::Known(ChecksVerdict::NoneYet);
    for checks in [none_yet, failing, passing(), Knowledge::Unknown] {
        let found = concern(&conflicting, checks);
        assert_eq!(found, Knowledge::Known(Concern::Conflicting));
    }
}

#[test]
fn lesson_59_unknown_mergeability_is_no_answer() {
    let mut unsure = pull_request();
    unsure.mergeability = Knowledge::Unknown;
    assert_eq!(concern(&unsure, passing()), Knowledge::Unknown);
}

#[test]
fn lesson_60_a_blocked_draft_is_a_draft_and_no_conflict() {
    let mut draft = pull_request();
    draft.is_draft = true;
    draft.is_blocked = Knowledge::Known(true);
    draft.review = Knowledge::Known(ReviewDecision::Required);
    let waits = Concern::Waiting(vec![Wait::Review, Wait::Draft]);
    assert_eq!(concern(&draft, passing()), Knowledge::Known(waits));
}

#[test]
fn lesson_72_a_queued_pull_request_waits() {
    let mut queued = pull_request();
    queued.is_queued = true;
    let waits = Concern::Waiting(vec![Wait::Queue]);
    assert_eq!(concern(&queued, passing()), Knowledge::Known(waits));
    let mut blocked = pull_request();
    blocked.is_blocked = Knowledge::Known(true);
    let waits = Concern::Waiting(vec![Wait::Rule]);
    assert_eq!(concern(&blocked, passing()), Knowledge::Known(waits));
}

#[test]
fn lesson_68_facts_about_another_head_decide_nothing() {
    let mut moved = pull_request();
    moved.head = commit("bbb");
    assert_eq!(concern(&moved, passing()), Knowledge::Unknown);
    // Whether it was merged or closed does not depend on the head.
    moved.state = PullRequestState::Merged;
    assert_eq!(
        concern(&moved, passing()),
        Knowledge::Known(Concern::Merged)
    );
}

#[test]
fn no_checks_are_enough_only_where_that_is_allowed() {
    let pull_request = pull_request();
    let mut situation = Situation {
        head: &commit("aaa"),
        pull_request: &pull_request,
        checks: Knowledge::Known(ChecksVerdict::NoneConfigured),
        open_points: Knowledge::None,
        allow_no_checks: false,
    };
    let waits = Concern::Waiting(vec![Wait::NoChecks]);
    assert_eq!(situation.concern(), Knowledge::Known(waits));
    situation.allow_no_checks = true;
    assert_eq!(situation.concern(), Knowledge::Known(Concern::Ready));
    situation.checks = Knowledge::Known(ChecksVerdict::NoneYet);
    let waits = Concern::Waiting(vec![Wait::Checks]);
    assert_eq!(situation.concern(), Knowledge::Known(waits));
}

#[test]
fn the_pull_request_of_a_branch_is_not_that_of_a_fork() {
    let branch = BranchName::new("fix");
    let of = |repository: Option<&str>, number| {
        let source = HeadSource {
            repository: repository.map(str::to_owned),
            branch: branch.clone(),
        };
        let mut pull_request = pull_request();
        pull_request.number = number;
        (source, pull_request)
    };
    let fork = of(Some("eve/engine"), 1);
    let gone = of(None, 2);
    let ours = of(Some("Ada/Engine"), 3);
    let candidates = [fork.clone(), gone, ours.clone()];
    let found = find_for_branch(&candidates, "ada/engine", &branch);
    assert_eq!(found, BranchMatch::One(&ours.1));
    assert_eq!(
        find_for_branch(&[fork], "ada/engine", &branch),
        BranchMatch::None
    );
    let two = [ours, of(Some("ada/engine"), 4)];
    let found = find_for_branch(&two, "ada/engine", &branch);
    assert_eq!(found, BranchMatch::Ambiguous(vec![3, 4]));
}
