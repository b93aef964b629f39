//! `docs/errors.md` names every code, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../../docs/errors.md");

const SOURCES: [&str; 2] = [
    include_str!("../../../../orange-config/src/workflows/load.rs"),
    include_str!("../../../../orange-engine/src/language/problem.rs"),
];

fn is_code(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_lowercase() || "-8".contains(character);
    !text.is_empty() && text.chars().all(is_part)
}

/// Every error code with its kinds: `Kind::Busy, "store-busy"` in the driver, `Exit::Usage,
/// "usage"` in the commands.
fn errors() -> BTreeSet<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = ["orange-driver/src/error", "orange/src/cli"].map(|it| crates.join(it));
    let texts = texts(folders.to_vec());
    let mut found = BTreeSet::new();
    for text in &texts {
        for (at, _) in text.match_indices(", \"") {
            let kind = text[..at].rsplit(|it: char| !it.is_alphanumeric()).next();
            let is_kind = ["Kind::", "Exit::"].map(|it| format!("{it}{}", kind.unwrap()));
            let is_kind = is_kind.iter().any(|it| text[..at].ends_with(it));
            let code = text[at + 3..].split('"').next().unwrap();
            if is_kind && is_code(code) {
                found.insert((code.to_owned(), kind.unwrap().to_owned()));
            }
        }
    }
    // Its kind depends on the signal.
    found.insert((String::from("interrupted"), String::from("Interrupted")));
    found
}

/// The codes in the sources: those of errors, and the problems of a workflow, each as the right
/// side of a `match`.
fn codes_in_source() -> BTreeSet<String> {
    let lines = SOURCES.iter().flat_map(|source| source.lines());
    let literals = lines.filter_map(|line| match line.split_once("=> \"") {
        Some((_, right)) => right.strip_suffix("\","),
        // A long pattern has its right side on a line of its own.
        None => line.trim().strip_prefix('"')?.strip_suffix('"'),
    });
    let problems = literals.filter(|literal| is_code(literal));
    let errors = errors().into_iter().map(|(code, _)| code);
    errors.chain(problems.map(str::to_owned)).collect()
}

/// The first column of the page's tables.
fn first_columns() -> impl Iterator<Item = &'static str> {
    PAGE.lines().filter_map(|line| {
        let cell = line.strip_prefix("| `")?;
        cell.split('`').next()
    })
}

#[test]
fn every_error_code_is_explained() {
    let explained = first_columns().filter(|cell| is_code(cell));
    let explained: BTreeSet<String> = explained.map(str::to_owned).collect();
    assert!(codes_in_source().len() > 25, "the codes were not found");
    assert_eq!(explained, codes_in_source());
}

#[test]
fn every_error_code_has_its_exit_code() {
    let source = include_str!("../../../src/cli/answer/exit.rs");
    let number = |kind: &str| {
        let mut lines = source.lines();
        let found = lines.find_map(|line| line.trim().strip_prefix(&format!("Exit::{kind} => ")));
        found.unwrap().trim_end_matches(',').to_owned()
    };
    for (code, kind) in errors() {
        let row = format!("| `{code}` | {}", number(&kind));
        assert!(PAGE.contains(&row), "the page lacks `{row}`");
    }
}

/// Codes that never appear in JSON, with the test that reaches them by their text.
const UNREAD: &[(&str, &str)] = &[(
    "answer-not-printed",
    "fn an_answer_that_cannot_be_printed_is_unexpected()",
)];

/// Every test and snapshot of the workspace except this file, which names codes itself.
fn tests() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(crates).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path().join("tests"));
    texts(folders.filter(|folder| folder.is_dir()).collect())
}

/// Every source and snapshot below these folders, except this file.
fn texts(mut folders: Vec<PathBuf>) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let end = path.extension().and_then(|end| end.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if matches!(end, Some("rs" | "snap")) && !path.ends_with(file!()) {
                texts.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    texts
}

/// `then-when-not-exhaustive` as the sources write it.
fn variant(code: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    let words: String = code.split('-').map(capital).collect();
    format!("ProblemCode::{words}")
}

#[test]
fn every_error_code_is_reached_by_a_test() {
    let tests = tests();
    assert!(tests.len() > 100, "the tests were not found");
    let is_read = |code: &str| {
        // As a test compares it, as a test finds it in JSON, and as `workflow check` prints it.
        let shapes = [
            format!("\"{code}\""),
            format!("\\\"{code}\\\""),
            format!("[{code}]"),
            variant(code),
        ];
        let mut tests = tests.iter();
        tests.any(|test| shapes.iter().any(|shape| test.contains(shape)))
    };
    let unreached = codes_in_source().into_iter().filter(|code| !is_read(code));
    let unreached: Vec<String> = unreached.collect();
    let excused: Vec<&str> = UNREAD.iter().map(|(code, _)| *code).collect();
    assert_eq!(unreached, excused, "no test reaches these codes");
    for (code, test) in UNREAD {
        let is_there = tests.iter().any(|text| text.contains(test));
        assert!(is_there, "`{test}` reaches `{code}` no more");
    }
}

#[test]
fn every_exit_code_is_explained() {
    let source = include_str!("../../../src/cli/answer/exit.rs");
    let given: Vec<&str> = source
        .lines()
        .filter_map(|line| line.split_once(" => ")?.1.strip_suffix(','))
        // An agent in a sandbox may end with any code.
        .filter(|code| *code != "code")
        .collect();
    let explained: Vec<&str> = first_columns()
        .filter(|cell| cell.parse::<u8>().is_ok())
        .collect();
    assert_eq!(given.len(), 9, "the codes were not found");
    assert_eq!(explained, given);
}
