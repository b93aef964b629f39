//! `docs/errors.md` names every code, and no other.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/errors.md");

const SOURCES: [&str; 4] = [
    include_str!("../../src/cli/driver_error.rs"),
    include_str!("../../src/cli/error.rs"),
    include_str!("../../src/config/examine.rs"),
    include_str!("../../../orange-engine/src/language/problem.rs"),
];

fn is_code(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_lowercase() || "-8".contains(character);
    !text.is_empty() && text.chars().all(is_part)
}

/// The codes that the sources give, each as the right side of a `match`.
fn given() -> BTreeSet<&'static str> {
    let lines = SOURCES.iter().flat_map(|source| source.lines());
    let literals = lines.filter_map(|line| match line.split_once("=> \"") {
        Some((_, right)) => right.strip_suffix("\","),
        // A long pattern has its right side on a line of its own.
        None => line.trim().strip_prefix('"')?.strip_suffix('"'),
    });
    literals.filter(|literal| is_code(literal)).collect()
}

/// What stands in the first column of the page's tables.
fn first_columns() -> impl Iterator<Item = &'static str> {
    PAGE.lines().filter_map(|line| {
        let cell = line.strip_prefix("| `")?;
        cell.split('`').next()
    })
}

#[test]
fn every_error_code_is_explained() {
    let explained: BTreeSet<_> = first_columns().filter(|cell| is_code(cell)).collect();
    assert!(given().len() > 25, "the codes were not found");
    assert_eq!(explained, given());
}

#[test]
fn every_exit_code_is_explained() {
    let source = include_str!("../../src/cli/exit.rs");
    let given: Vec<&str> = source
        .lines()
        .filter_map(|line| line.split_once(" = ")?.1.strip_suffix(','))
        .collect();
    let explained: Vec<&str> = first_columns()
        .filter(|cell| cell.parse::<u8>().is_ok())
        .collect();
    assert_eq!(given.len(), 9, "the codes were not found");
    assert_eq!(explained, given);
}
