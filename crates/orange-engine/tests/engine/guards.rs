//! `when`: its grammar, its semantics, and the proofs about it.

use std::collections::BTreeMap;

use orange_engine::language::intervals::{Witness, find_overlap, find_uncovered};
use orange_engine::language::when::{Limits, When};
use orange_engine::names::{FieldName, LimitName};
use proptest::prelude::*;
use proptest::sample::select;

fn limits() -> Limits {
    BTreeMap::from([(LimitName::new("max_rounds"), 2)])
}

fn when(text: &str) -> When {
    When::parse(text, &limits()).unwrap()
}

fn holds(text: &str, round: i64, crashes: i64) -> bool {
    when(text).holds(|field| match field.as_str() {
        "review_round" => round,
        "crash_count" => crashes,
        _ => 0,
    })
}

#[test]
fn every_operator_means_what_it_says() {
    for (operator, below, at, above) in [
        ("<", true, false, false),
        ("<=", true, true, false),
        (">", false, false, true),
        (">=", false, true, true),
        ("==", false, true, false),
        ("!=", true, false, true),
    ] {
        let text = format!("review_round {operator} max_rounds");
        assert_eq!(holds(&text, 1, 0), below, "{text}");
        assert_eq!(holds(&text, 2, 0), at, "{text}");
        assert_eq!(holds(&text, 3, 0), above, "{text}");
        let tight = format!("review_round{operator}2");
        assert_eq!(holds(&tight, 2, 0), at, "{tight}");
    }
    assert_eq!(when("review_round<2").to_string(), "review_round<2");
    assert!(holds("review_round > 0 and crash_count == 0", 1, 0));
    assert!(!holds("review_round > 0 and crash_count == 0", 1, 1));
    assert!(!holds("review_round > 0 and crash_count == 0", 0, 0));
}

#[test]
fn parse_errors_point_at_their_position() {
    for (text, offset, message) in [
        ("", 0, "expected a field, found the end"),
        ("  ", 2, "expected a field, found the end"),
        ("2 < 3", 0, "expected a field, found `2`"),
        (
            "review_round",
            12,
            "expected one of `<`, `<=`, `>`, `>=`, `==`, `!=`, found the end",
        ),
        (
            "review_round = 2",
            13,
            "expected one of `<`, `<=`, `>`, `>=`, `==`, `!=`, found `=`",
        ),
        (
            "review_round <",
            14,
            "expected an integer or a limit, found the end",
        ),
        (
            "review_round < 2.5",
            15,
            "expected an integer or a limit, found `2.5`",
        ),
        (
            "review_round < lots",
            15,
            "`lots` is neither an integer nor declared under `limits`",
        ),
        (
            "review_round < 2 or crash_count < 1",
            17,
            "expected `and` or the end, found `or`",
        ),
        (
            "review_round < 2 and",
            20,
            "expected a field, found the end",
        ),
        ("é < 2", 0, "expected a field, found `é`"),
        (
            "review_round < 99999999999999999999",
            15,
            "expected an integer or a limit, found `99999999999999999999`",
        ),
    ] {
        let error = When::parse(text, &limits()).unwrap_err();
        assert_eq!(
            (error.offset, error.message.as_str()),
            (offset, message),
            "{text}"
        );
        assert_eq!(
            error.to_string(),
            format!("`when` does not parse: {message}")
        );
    }
    assert_eq!(
        when("review_round<2  and  crash_count>=1").text(),
        "review_round<2  and  crash_count>=1"
    );
}

fn witness(values: &[(&str, i64)]) -> Witness {
    values
        .iter()
        .map(|(field, value)| (FieldName::new(field), *value))
        .collect()
}

#[test]
fn overlaps_come_with_a_witness() {
    let both = |one: &str, other: &str| find_overlap(Some(&when(one)), Some(&when(other)));
    assert_eq!(both("a < 2", "a >= 2"), None);
    assert_eq!(both("a < 2", "a > 0"), Some(witness(&[("a", 1)])));
    assert_eq!(
        both("a == 1", "b == 2"),
        Some(witness(&[("a", 1), ("b", 2)]))
    );
    assert_eq!(
        both("a != 0 and a != 1", "a < 3"),
        Some(witness(&[("a", 2)]))
    );
    assert_eq!(both("a != 0 and a != 1", "a < 2"), None);
    assert_eq!(both("a < 0", "a < 5"), None, "no field is below zero");
    assert_eq!(both("a > 9223372036854775807", "a > 1"), None);
    assert_eq!(both("a < -9223372036854775808", "a >= 0"), None);
    assert_eq!(
        both("a == 9223372036854775807", "a != 9223372036854775807"),
        None
    );
    assert_eq!(
        find_overlap(None, Some(&when("a == 4"))),
        Some(witness(&[("a", 4)]))
    );
    assert_eq!(find_overlap(None, None), Some(witness(&[])));
}

#[test]
fn gaps_come_with_a_witness() {
    let gap = |guards: &[&str]| {
        let guards: Vec<When> = guards.iter().map(|text| when(text)).collect();
        let guards: Vec<&When> = guards.iter().collect();
        find_uncovered(&guards).unwrap()
    };
    assert_eq!(gap(&["a < 2", "a >= 2"]), None);
    assert_eq!(gap(&["a < 2", "a > 2"]), Some(witness(&[("a", 2)])));
    assert_eq!(gap(&["a == 3", "a != 3"]), None);
    assert_eq!(gap(&["a != 3"]), Some(witness(&[("a", 3)])));
    assert_eq!(
        gap(&["a < 1", "a >= 1 and b < 2"]),
        Some(witness(&[("a", 1), ("b", 2)]))
    );
    assert_eq!(gap(&["a < 1", "a >= 1 and b < 2", "b > 1"]), None);
    assert_eq!(gap(&["a >= 0"]), None);
    assert_eq!(gap(&[]), Some(witness(&[])));
    assert_eq!(gap(&["a != 1 and b != 1", "a == 1", "b == 1"]), None);
    assert_eq!(
        gap(&["a != 1 and b != 1", "a == 1 and b > 0", "b == 1"]),
        Some(witness(&[("a", 1), ("b", 0)]))
    );
}

#[test]
fn a_proof_that_takes_too_long_is_abandoned() {
    let many: Vec<String> = (0..40).map(|index| format!("f{index} != 1")).collect();
    let guards: Vec<When> = (0..6).map(|_| when(&many.join(" and "))).collect();
    let guards: Vec<&When> = guards.iter().collect();
    // The prover either answers quickly or gives up; it never hangs.
    let _ = find_uncovered(&guards);
}

fn any_guard() -> impl Strategy<Value = String> {
    let field = select(vec!["a", "b"]);
    let operator = select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let comparison = (field, operator, 0..5i64)
        .prop_map(|(field, operator, value)| format!("{field} {operator} {value}"));
    proptest::collection::vec(comparison, 1..4).prop_map(|parts| parts.join(" and "))
}

/// Every combination of two fields from zero to well above the largest constant.
fn grid() -> impl Iterator<Item = (i64, i64)> {
    (0..8).flat_map(|a| (0..8).map(move |b| (a, b)))
}

fn holds_at(guard: &When, (a, b): (i64, i64)) -> bool {
    guard.holds(|field| if field.as_str() == "a" { a } else { b })
}

proptest! {
    #[test]
    fn overlap_agrees_with_trying_every_value(one in any_guard(), other in any_guard()) {
        let (one, other) = (when(&one), when(&other));
        let tried = grid().any(|point| holds_at(&one, point) && holds_at(&other, point));
        match find_overlap(Some(&one), Some(&other)) {
            None => prop_assert!(!tried),
            Some(found) => {
                let at = |name: &str| found.get(name).copied().unwrap_or(0);
                let point = (at("a"), at("b"));
                prop_assert!(holds_at(&one, point) && holds_at(&other, point));
            }
        }
    }

    #[test]
    fn coverage_agrees_with_trying_every_value(guards in proptest::collection::vec(any_guard(), 0..5)) {
        let guards: Vec<When> = guards.iter().map(|text| when(text)).collect();
        let references: Vec<&When> = guards.iter().collect();
        let tried = grid().find(|point| !guards.iter().any(|guard| holds_at(guard, *point)));
        match find_uncovered(&references) {
            Ok(None) => prop_assert_eq!(tried, None),
            Ok(Some(found)) => {
                let at = |name: &str| found.get(name).copied().unwrap_or(0);
                let point = (at("a"), at("b"));
                prop_assert!(!guards.iter().any(|guard| holds_at(guard, point)), "{:?}", point);
            }
            Err(_) => prop_assert!(false, "five small guards are not too complicated"),
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "(?s).{0,60}") {
        let _ = When::parse(&text, &limits());
    }
}
