//! How often orange reacts.

use orange_engine::forge::reaction::{
    Fingerprint, NextReaction, Offer, Reaction, ReactionKind, ReactionRecord, ReportReason,
};

use crate::fixtures::commit;

fn fingerprint(kind: ReactionKind, head: &str, details: &[&str]) -> Fingerprint {
    Fingerprint::new(kind, &commit(head), details.iter().copied())
}

#[test]
fn a_rerun_comes_before_everything_else_and_once_per_head() {
    let mut record = ReactionRecord::default();
    let failing = fingerprint(ReactionKind::Failing, "aaa", &["test"]);
    for offer in [Offer::Round, Offer::Move, Offer::Closed] {
        assert_eq!(record.next(&failing, true, offer), NextReaction::Rerun);
        assert_ne!(record.next(&failing, false, offer), NextReaction::Rerun);
    }
    record.record(&failing, Reaction::Rerun, None);
    let next = record.next(&failing, true, Offer::Round);
    assert_eq!(next, NextReaction::Transition);
    let other = fingerprint(ReactionKind::Failing, "bbb", &["test"]);
    assert_eq!(record.next(&other, true, Offer::Round), NextReaction::Rerun);
}

#[test]
fn the_counter_comes_before_the_fingerprint() {
    let mut record = ReactionRecord::default();
    let conflict = fingerprint(ReactionKind::Conflicting, "aaa", &["base1"]);
    record.record(&conflict, Reaction::Transition, None);
    let next = |offer| record.next(&conflict, false, offer);
    let unchanged = NextReaction::Report(ReportReason::Unchanged);
    assert_eq!(next(Offer::Round), unchanged);
    assert_eq!(next(Offer::Move), NextReaction::Transition);
    let no_rounds = NextReaction::Report(ReportReason::NoRoundsLeft);
    assert_eq!(next(Offer::Closed), no_rounds);
}

#[test]
fn the_user_is_told_once_until_the_user_decides() {
    let mut record = ReactionRecord::default();
    let points = fingerprint(ReactionKind::Feedback, "aaa", &["1"]);
    record.record(&points, Reaction::Transition, Some("feedback.md"));
    record.record(&points, Reaction::Report, None);
    for offer in [Offer::Round, Offer::Closed] {
        assert_eq!(record.next(&points, false, offer), NextReaction::Nothing);
    }
    assert_eq!(record.feedback_file(), Some("feedback.md"));
    record.forget_answers();
    let next = record.next(&points, false, Offer::Round);
    assert_eq!(next, NextReaction::Transition);
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
