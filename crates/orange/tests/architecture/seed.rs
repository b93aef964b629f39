//! Each requirement of seed 004 names tests that exist.

use std::collections::BTreeSet;

use super::tree::{Tree, has_ending};

const TABLE: &str = include_str!("seed_004.txt");

/// One line of a table.
pub struct Requirement<'a> {
    pub first_line: u32,
    pub text: &'a str,
    pub tests: Vec<&'a str>,
}

/// The requirements of a table, or its first line that is not `LINES | REQUIREMENT | TESTS`.
pub fn requirements(table: &str) -> Result<Vec<Requirement<'_>>, &str> {
    let rows = table
        .lines()
        .filter(|it| !it.starts_with('#') && !it.is_empty());
    let rows = rows.map(|row| {
        let parts: Vec<&str> = row.split(" | ").collect();
        let [lines, text, tests] = parts[..] else {
            return Err(row);
        };
        let first = lines.split('-').next().unwrap_or_default();
        Ok(Requirement {
            first_line: first.parse().map_err(|_| row)?,
            text,
            tests: tests.split(", ").collect(),
        })
    });
    rows.collect()
}

/// The tests of the table that no source has.
pub fn missing<'a>(requirements: &[Requirement<'a>], sources: &[&str]) -> BTreeSet<&'a str> {
    let all = requirements.iter().flat_map(|it| it.tests.iter().copied());
    let exists = |test: &str| {
        let function = format!("fn {test}(");
        // Some tests are made by a macro that gets their names.
        let by_macro = [
            format!(" {test}:"),
            format!(" {test},"),
            format!(" {test} "),
        ];
        sources.iter().any(|source| {
            source.contains(&function) || by_macro.iter().any(|it| source.contains(it))
        })
    };
    all.filter(|test| !exists(test)).collect()
}

#[test]
fn every_requirement_of_seed_004_has_a_test() {
    let (_, texts) = Tree::load_texts().unwrap();
    let rust = texts.iter().filter(|it| has_ending(&it.path, &["rs"]));
    let sources: Vec<&str> = rust.map(|it| it.content.as_str()).collect();
    let requirements = requirements(TABLE).unwrap();
    assert!(requirements.len() >= 50, "{}", requirements.len());
    let order: Vec<u32> = requirements.iter().map(|it| it.first_line).collect();
    assert!(order.is_sorted(), "{order:?}");
    let missing = missing(&requirements, &sources);
    assert!(missing.is_empty(), "no such test: {missing:?}");
}

#[test]
fn a_test_that_does_not_exist_is_found() {
    let table = "1 | one | there\n2-3 | two | gone, there\n";
    let found = missing(&requirements(table).unwrap(), &["#[test]\nfn there() {}"]);
    assert_eq!(found, BTreeSet::from(["gone"]));
}
