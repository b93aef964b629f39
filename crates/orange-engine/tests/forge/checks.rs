//! The state of checks: what passes, and what is not an answer.

use std::collections::BTreeSet;

use orange_engine::forge::checks::{
    CHECKS_GRACE_SECONDS, CheckOutcome, ChecksReading, ChecksVerdict, RepositoryChecks, Rollup,
};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::language::gates::ChecksState;

use crate::fixtures::{at, check, commit, reading};

fn judge(reading: &ChecksReading) -> Knowledge<ChecksVerdict> {
    reading.judge(&commit("aaa"), at(1000))
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn lesson_64_zero_checks_are_never_passing() {
    let mut empty = reading(Vec::new());
    assert_eq!(judge(&empty), Knowledge::Known(ChecksVerdict::NoneYet));
    empty.repository = RepositoryChecks::Exist;
    assert_eq!(judge(&empty), Knowledge::Known(ChecksVerdict::NoneYet));
    // A repository without checks is believed only some time after the push.
    empty.repository = RepositoryChecks::Absent;
    let grace = i64::try_from(CHECKS_GRACE_SECONDS).unwrap();
    let early = empty.judge(&commit("aaa"), at(grace - 1));
    assert_eq!(early, Knowledge::Known(ChecksVerdict::NoneYet));
    let late = empty.judge(&commit("aaa"), at(grace));
    assert_eq!(late, Knowledge::Known(ChecksVerdict::NoneConfigured));
    empty.required = Knowledge::Unknown;
    assert_eq!(judge(&empty), Knowledge::Known(ChecksVerdict::NoneYet));
    // The forge's own summary does not turn nothing into success either.
    empty.rollup = Knowledge::Known(Rollup::Success);
    assert_eq!(judge(&empty), Knowledge::Known(ChecksVerdict::NoneYet));
    assert_eq!(
        ChecksVerdict::NoneYet.gate_state(),
        Some(ChecksState::Pending)
    );
    assert_eq!(ChecksVerdict::NoneConfigured.gate_state(), None);
}

#[test]
fn lesson_57_checks_of_a_list_that_was_not_read_to_its_end_are_unknown() {
    let mut part = reading(vec![check("a", CheckOutcome::Passed)]);
    part.is_complete = false;
    assert_eq!(judge(&part), Knowledge::Unknown);
}

#[test]
fn checks_of_another_commit_are_unknown() {
    let passing = reading(vec![check("a", CheckOutcome::Passed)]);
    assert!(matches!(
        judge(&passing),
        Knowledge::Known(ChecksVerdict::Passing { .. })
    ));
    assert_eq!(passing.judge(&commit("bbb"), at(1000)), Knowledge::Unknown);
}

#[test]
fn lesson_75_a_skipped_required_check_passes_and_is_named() {
    let mut reading = reading(vec![
        check("build", CheckOutcome::Passed),
        check("deploy", CheckOutcome::Skipped),
        check("extra", CheckOutcome::Skipped),
    ]);
    reading.required = Knowledge::Known(names(&["build", "deploy"]));
    let skipped = vec![String::from("deploy")];
    assert_eq!(
        judge(&reading),
        Knowledge::Known(ChecksVerdict::Passing { skipped })
    );
}

#[test]
fn a_required_check_that_was_not_reported_is_missing() {
    let mut reading = reading(vec![check("build", CheckOutcome::Passed)]);
    reading.required = Knowledge::Known(names(&["build", "lint"]));
    let required = vec![String::from("lint")];
    let missing = ChecksVerdict::Missing { required };
    assert_eq!(missing.gate_state(), Some(ChecksState::Pending));
    assert_eq!(judge(&reading), Knowledge::Known(missing.clone()));
    reading.required = Knowledge::Unknown;
    reading.checks.push(check("lint", CheckOutcome::Expected));
    assert_eq!(judge(&reading), Knowledge::Known(missing));
}

#[test]
fn without_the_list_of_required_checks_the_forge_must_agree() {
    let mut reading = reading(vec![check("build", CheckOutcome::Passed)]);
    reading.required = Knowledge::Unknown;
    for (rollup, is_known) in [
        (Knowledge::Known(Rollup::Success), true),
        (Knowledge::Known(Rollup::Expected), false),
        (Knowledge::Known(Rollup::Pending), false),
        (Knowledge::None, false),
        (Knowledge::Unknown, false),
    ] {
        reading.rollup = rollup;
        assert_eq!(!judge(&reading).is_unknown(), is_known, "{rollup:?}");
    }
}

#[test]
fn only_the_last_run_of_a_check_counts() {
    let mut again = check("build", CheckOutcome::Passed);
    again.started = Some(at(10));
    let first = check("build", CheckOutcome::Failed);
    for checks in [
        vec![first.clone(), again.clone()],
        vec![again.clone(), first.clone()],
    ] {
        let verdict = judge(&reading(checks));
        assert!(matches!(
            verdict,
            Knowledge::Known(ChecksVerdict::Passing { .. })
        ));
    }
    // One that waits is the newest.
    let mut waiting = check("build", CheckOutcome::Running);
    waiting.started = None;
    let verdict = judge(&reading(vec![again, waiting, first.clone()]));
    assert!(matches!(
        verdict,
        Knowledge::Known(ChecksVerdict::Pending { .. })
    ));
    // The same name in another group is another check.
    let mut other = check("build", CheckOutcome::Passed);
    other.group = String::from("other");
    other.started = Some(at(99));
    let verdict = judge(&reading(vec![first, other]));
    assert!(matches!(
        verdict,
        Knowledge::Known(ChecksVerdict::Failing { .. })
    ));
}

#[test]
fn a_failure_says_which_checks_are_required() {
    let mut lint = check("lint", CheckOutcome::Cancelled);
    lint.is_required = true;
    let reading = reading(vec![
        check("docs", CheckOutcome::Failed),
        lint,
        check("slow", CheckOutcome::Running),
    ]);
    assert_eq!(
        judge(&reading),
        Knowledge::Known(ChecksVerdict::Failing {
            required: vec![String::from("lint")],
            optional: vec![String::from("docs")],
        })
    );
}
