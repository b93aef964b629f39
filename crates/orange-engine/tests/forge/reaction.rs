//! How often orange reacts.

use orange_engine::forge::reaction::{
    Fingerprint, IdleReason, Reaction, ReactionKind, ReactionLimits, ReactionRecord, ReportReason,
    reaction_kind,
};
use orange_engine::forge::readiness::Concern;

use crate::fixtures::commit;

const LIMITS: ReactionLimits = ReactionLimits {
    rounds: 3,
    rerun: true,
};

fn fingerprint(kind: ReactionKind, head: &str, details: &[&str]) -> Fingerprint {
    Fingerprint::new(kind, &commit(head), details.iter().copied())
}

fn react(record: &mut ReactionRecord, fingerprint: &Fingerprint) -> Reaction {
    let reaction = record.react(Some(fingerprint), LIMITS);
    record.record(&reaction);
    reaction
}

#[test]
fn lesson_76_failed_checks_run_again_once_per_head_before_an_agent_gets_them() {
    let mut record = ReactionRecord::default();
    let failing = fingerprint(ReactionKind::Failing, "aaa", &["test"]);
    assert_eq!(
        react(&mut record, &failing),
        Reaction::Rerun(failing.clone())
    );
    assert_eq!(record.round_count(), 0);
    assert_eq!(
        react(&mut record, &failing),
        Reaction::Start(failing.clone())
    );
    let in_flight = Reaction::Nothing(IdleReason::InFlight);
    assert_eq!(react(&mut record, &failing), in_flight);
}

#[test]
fn lesson_66_a_head_that_never_moves_reaches_the_user() {
    let mut record = ReactionRecord::default();
    let conflict = fingerprint(ReactionKind::Conflicting, "aaa", &["base1"]);
    assert!(matches!(react(&mut record, &conflict), Reaction::Start(_)));
    record.end_round();
    let report = Reaction::Report(conflict.clone(), ReportReason::Unchanged);
    assert_eq!(react(&mut record, &conflict), report);
    let reported = Reaction::Nothing(IdleReason::Reported);
    assert_eq!(react(&mut record, &conflict), reported);
    // A base that moved makes it a new conflict, until the rounds are used up.
    for base in ["base2", "base3"] {
        let conflict = fingerprint(ReactionKind::Conflicting, "aaa", &[base]);
        assert!(matches!(react(&mut record, &conflict), Reaction::Start(_)));
        record.end_round();
    }
    let conflict = fingerprint(ReactionKind::Conflicting, "aaa", &["base4"]);
    let report = Reaction::Report(conflict.clone(), ReportReason::NoRoundsLeft);
    assert_eq!(react(&mut record, &conflict), report);
}

#[test]
fn lesson_83_only_the_user_resets_the_counter() {
    let mut record = ReactionRecord::default();
    for head in ["a", "b", "c"] {
        let points = fingerprint(ReactionKind::Feedback, head, &["1"]);
        assert!(matches!(react(&mut record, &points), Reaction::Start(_)));
        record.end_round();
    }
    let more = fingerprint(ReactionKind::Feedback, "d", &["2"]);
    assert!(matches!(react(&mut record, &more), Reaction::Report(..)));
    record.reset();
    assert!(matches!(react(&mut record, &more), Reaction::Start(_)));
}

#[test]
fn the_order_of_details_does_not_matter() {
    let one = fingerprint(ReactionKind::Failing, "aaa", &["a", "b"]);
    assert_eq!(
        one,
        fingerprint(ReactionKind::Failing, "aaa", &["b", "a", "a"])
    );
    assert_ne!(one, fingerprint(ReactionKind::Failing, "aaa", &["ab"]));
}

#[test]
fn there_is_no_reaction_to_waiting() {
    assert_eq!(reaction_kind(&Concern::Ready), None);
    assert_eq!(reaction_kind(&Concern::Waiting(Vec::new())), None);
    assert_eq!(reaction_kind(&Concern::Merged), None);
    let none = ReactionRecord::default().react(None, LIMITS);
    assert_eq!(none, Reaction::Nothing(IdleReason::NoConcern));
}
