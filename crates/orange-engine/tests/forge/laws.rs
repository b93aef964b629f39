//! Properties of any reading. `PROPTEST_CASES=100000` makes it a long run.

use std::collections::BTreeSet;

use orange_engine::forge::checks::{
    Check, CheckOutcome, ChecksReading, ChecksVerdict, RepositoryChecks, Rollup,
};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::outside_text::clean;
use orange_engine::forge::pull_request::{Mergeability, PullRequest, ReviewDecision};
use orange_engine::forge::reaction::{
    Fingerprint, NextReaction, Offer, Reaction, ReactionKind, ReactionRecord,
};
use orange_engine::forge::readiness::{Concern, Situation};
use orange_engine::forge::text::fence;
use orange_engine::language::gates::PullRequestState;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixtures::{at, commit, pull_request};

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn any_knowledge<T: Clone + std::fmt::Debug + 'static>(
    values: Vec<T>,
) -> impl Strategy<Value = Knowledge<T>> {
    prop_oneof![
        4 => select(values).prop_map(Knowledge::Known),
        1 => Just(Knowledge::None),
        1 => Just(Knowledge::Unknown),
    ]
}

fn any_check() -> impl Strategy<Value = Check> {
    let outcomes = vec![
        CheckOutcome::Passed,
        CheckOutcome::Skipped,
        CheckOutcome::Failed,
        CheckOutcome::Cancelled,
        CheckOutcome::Running,
        CheckOutcome::Expected,
    ];
    let names = select(vec!["a", "b", "c"]);
    (
        names,
        select(outcomes),
        any::<bool>(),
        proptest::option::of(0..9_i64),
    )
        .prop_map(|(name, outcome, is_required, started)| Check {
            group: String::new(),
            name: name.to_owned(),
            outcome,
            is_required,
            started: started.map(at),
        })
}

fn any_reading() -> impl Strategy<Value = ChecksReading> {
    let rollups = vec![
        Rollup::Success,
        Rollup::Failure,
        Rollup::Pending,
        Rollup::Expected,
    ];
    let required = vec![
        BTreeSet::from([String::from("a")]),
        BTreeSet::from([String::from("z")]),
    ];
    let repositories = vec![
        RepositoryChecks::Exist,
        RepositoryChecks::Absent,
        RepositoryChecks::Unknown,
    ];
    (
        select(vec!["aaa", "bbb"]),
        proptest::collection::vec(any_check(), 0..5),
        any::<bool>(),
        any_knowledge(rollups),
        any_knowledge(required),
        select(repositories),
    )
        .prop_map(
            |(head, checks, is_complete, rollup, required, repository)| ChecksReading {
                commit: commit(head),
                checks,
                is_complete,
                rollup,
                required,
                repository,
                pushed: at(0),
            },
        )
}

fn any_pull_request() -> impl Strategy<Value = PullRequest> {
    let states = vec![
        PullRequestState::Open,
        PullRequestState::Open,
        PullRequestState::Merged,
        PullRequestState::Closed,
    ];
    let reviews = vec![
        ReviewDecision::Approved,
        ReviewDecision::ChangesRequested,
        ReviewDecision::Required,
    ];
    (
        select(states),
        any::<bool>(),
        select(vec!["aaa", "bbb"]),
        any_knowledge(vec![Mergeability::Clean, Mergeability::Conflicting]),
        any_knowledge(vec![true, false]),
        any_knowledge(reviews),
        any::<bool>(),
    )
        .prop_map(
            |(state, is_draft, head, mergeability, is_blocked, review, is_queued)| PullRequest {
                state,
                is_draft,
                head: commit(head),
                mergeability,
                is_blocked,
                review,
                is_queued,
                ..pull_request()
            },
        )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn laws_only_a_whole_reading_of_this_commit_is_an_answer(
        reading in any_reading(),
        seconds in 0..500_i64,
    ) {
        let verdict = reading.judge(&commit("aaa"), at(seconds));
        let counts = reading.is_complete && reading.commit == commit("aaa");
        prop_assert!(counts || verdict.is_unknown());
        if let Knowledge::Known(ChecksVerdict::Passing { .. }) = verdict {
            prop_assert!(!reading.checks.is_empty());
            let is_fine = |it: &Check| matches!(it.outcome, CheckOutcome::Passed | CheckOutcome::Skipped);
            prop_assert!(reading.checks.iter().any(is_fine));
            let proven = !reading.required.is_unknown()
                || reading.rollup == Knowledge::Known(Rollup::Success);
            prop_assert!(proven);
        }
    }

    #[test]
    fn laws_unknown_never_becomes_an_answer(
        pull_request in any_pull_request(),
        reading in any_reading(),
        open_points in any_knowledge(vec![0, 1, 2]),
        allow_no_checks in any::<bool>(),
    ) {
        let head = commit("aaa");
        let checks = reading.judge(&head, at(500));
        let situation = Situation {
            head: &head,
            pull_request: &pull_request,
            checks: checks.clone(),
            open_points,
            allow_no_checks,
        };
        let concern = situation.concern();
        let is_open = pull_request.state == PullRequestState::Open;
        if is_open && pull_request.head != head {
            prop_assert_eq!(&concern, &Knowledge::Unknown);
        }
        if concern == Knowledge::Known(Concern::Ready) {
            prop_assert!(is_open && !pull_request.is_draft && !pull_request.is_queued);
            prop_assert_eq!(pull_request.mergeability, Knowledge::Known(Mergeability::Clean));
            prop_assert_eq!(pull_request.is_blocked, Knowledge::Known(false));
            prop_assert!(!open_points.is_unknown() && !pull_request.review.is_unknown());
            let is_green = matches!(checks, Knowledge::Known(ChecksVerdict::Passing { .. }));
            let is_bare = checks == Knowledge::Known(ChecksVerdict::NoneConfigured);
            prop_assert!(is_green || (is_bare && allow_no_checks));
        }
    }

    #[test]
    fn laws_one_fingerprint_starts_one_round_and_no_reaction_stops_in_silence(
        steps in proptest::collection::vec((0..3_usize, 0..4_usize, any::<bool>(), 0..3_usize), 0..60),
    ) {
        let kinds = [ReactionKind::Conflicting, ReactionKind::Failing, ReactionKind::Feedback];
        let mut record = ReactionRecord::default();
        let (mut rounds, mut reported) = (BTreeSet::new(), BTreeSet::new());
        let mut reruns = BTreeSet::new();
        for (kind, head, can_rerun, offer) in steps {
            let head = ["a", "b", "c", "d"][head];
            let offer = [Offer::Round, Offer::Move, Offer::Closed][offer];
            let fingerprint = Fingerprint::new(kinds[kind], &commit(head), ["x"]);
            let reaction = match record.next(&fingerprint, can_rerun, offer) {
                NextReaction::Rerun => {
                    prop_assert!(reruns.insert(head), "one head, one rerun");
                    Reaction::Rerun
                }
                NextReaction::Transition => {
                    let is_new = rounds.insert(fingerprint.clone());
                    prop_assert!(is_new || offer == Offer::Move, "one fingerprint, one round");
                    Reaction::Transition
                }
                NextReaction::Report(_) => {
                    prop_assert!(reported.insert(fingerprint.clone()), "told once");
                    Reaction::Report
                }
                NextReaction::Nothing => {
                    prop_assert!(reported.contains(&fingerprint), "the user knows");
                    continue;
                }
            };
            record.record(&fingerprint, reaction, None);
        }
    }

    #[test]
    fn laws_nothing_hidden_survives_cleaning(
        pieces in proptest::collection::vec(select(vec![
            "<!--", "-->", "<!", "--", ">", "<", "a", "\n", "\n\n", " ", "[x]: # (hidden)", "[y]:",
            "![alt](u \"title\")", "[t](u \"title\")", "<img alt='x'>", "```", "# H", "\u{200b}",
            "\u{202e}", "é", "> ", "- ", "\\", "\r", "[//]: #",
        ]), 0..25),
    ) {
        let text: String = pieces.concat();
        let cleaned = clean(&text);
        prop_assert!(!cleaned.contains("<!--"), "{cleaned:?}");
        let has_hidden = cleaned.contains(['\u{200b}', '\u{202e}', '\r']);
        prop_assert!(!has_hidden);
        let plain = "plain words, 1 < 2\n";
        prop_assert_eq!(clean(plain), plain);
    }

    #[test]
    fn laws_any_text_can_be_cleaned_and_fenced(text in any::<String>()) {
        clean(&text);
        let fenced = fence(&text, "text");
        let marks = fenced.chars().take_while(|it| *it == '`').count();
        let inside = &fenced[marks..fenced.len() - marks - 1];
        prop_assert!(!inside.contains(&"`".repeat(marks)));
    }
}
