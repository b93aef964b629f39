//! Each row of the comparison names its tests or its documented difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::seed::{Requirement, missing, requirements};
use super::tree::{Tree, has_ending};

const TABLE: &str = include_str!("fidelity.txt");

/// The rows of the comparison that were once missing, partial or different.
const ROWS: [u32; 46] = [
    7, 9, 12, 14, 25, 26, 46, 51, 66, 67, 71, 81, 94, 95, 97, 102, 104, 105, 109, 114, 119, 121,
    124, 125, 126, 127, 128, 129, 130, 134, 140, 141, 146, 148, 150, 151, 152, 153, 154, 155, 156,
    157, 158, 160, 161, 162,
];

/// Whether an entry names a section of the documentation rather than a test.
fn is_place(entry: &str) -> bool {
    entry.contains('#')
}

/// The anchor that a forge gives to a heading.
pub fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// The text between the heading with this anchor and the next heading.
fn section(page: &str, wanted: &str) -> Option<String> {
    let mut is_code = false;
    let mut found: Option<String> = None;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.trim_start_matches('#');
        if !is_code && heading.len() < line.len() && heading.starts_with(' ') {
            if found.is_some() {
                break;
            }
            found = (anchor(heading) == wanted).then(String::new);
        } else if let Some(text) = &mut found {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

/// Whether the section of `PAGE#ANCHOR "WORDS"` contains the words.
fn is_stated(entry: &str, read: impl Fn(&str) -> Option<String>) -> bool {
    let parts = entry.split_once(" \"").and_then(|(place, words)| {
        let (page, anchor) = place.split_once('#')?;
        Some((page, anchor, words.strip_suffix('"')?))
    });
    let Some((page, anchor, words)) = parts else {
        return false;
    };
    let text = read(page).and_then(|page| section(&page, anchor));
    text.is_some_and(|text| text.contains(words))
}

/// The rows with only their tests.
fn without_places<'a>(rows: &[Requirement<'a>]) -> Vec<Requirement<'a>> {
    let rows = rows.iter().map(|row| {
        let entries = row.tests.iter().copied();
        Requirement {
            first_line: row.first_line,
            text: row.text,
            tests: entries.filter(|it| !is_place(it)).collect(),
        }
    });
    rows.collect()
}

#[test]
fn every_row_is_tested_or_differs_as_documented() {
    let rows = requirements(TABLE).unwrap();
    let numbers: Vec<u32> = rows.iter().map(|it| it.first_line).collect();
    assert_eq!(numbers, ROWS);
    for row in &rows {
        let number = row.first_line;
        assert!(row.tests.iter().all(|it| !it.is_empty()), "{number}");
        let has_place = row.tests.iter().any(|it| is_place(it));
        assert_eq!(row.text.contains("differs: "), has_place, "{number}");
    }

    let (_, texts) = Tree::load_texts().unwrap();
    let rust = texts.iter().filter(|it| has_ending(&it.path, &["rs"]));
    let sources: Vec<&str> = rust.map(|it| it.content.as_str()).collect();
    let missing = missing(&without_places(&rows), &sources);
    assert!(missing.is_empty(), "no such test: {missing:?}");

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |page: &str| fs::read_to_string(root.join(page)).ok();
    let places = rows.iter().flat_map(|it| it.tests.iter().copied());
    let places = places.filter(|it| is_place(it));
    let unstated: BTreeSet<&str> = places.filter(|it| !is_stated(it, read)).collect();
    assert!(unstated.is_empty(), "not documented: {unstated:#?}");
}

#[test]
fn a_difference_must_be_in_its_section() {
    let page = "# Page\n\n## `a.toml`, and b\n\nIt differs.\n\n```\n# no heading\n```\n\nStill \
                here.\n\n### Next\n\nIt is the same.\n";
    let read = |path: &str| (path == "docs/a.md").then(|| page.to_owned());
    for entry in [
        "docs/a.md#atoml-and-b \"It differs.\"",
        "docs/a.md#atoml-and-b \"Still here.\"",
        "docs/a.md#next \"the same\"",
    ] {
        assert!(is_stated(entry, read), "{entry}");
    }
    for entry in [
        "docs/a.md#atoml-and-b \"the same\"",
        "docs/a.md#no-heading \"Still here.\"",
        "docs/a.md#gone \"It differs.\"",
        "docs/b.md#next \"the same\"",
        "docs/a.md#next",
    ] {
        assert!(!is_stated(entry, read), "{entry}");
    }
}
