//! Which sections the corpus has, on which lines.

use orange_engine::document::{Document, SectionHash};
use orange_engine::document::{DocumentError, MAX_DOCUMENT_BYTES, SectionName, SectionNameError};

use crate::{Row, corpus, parse, read, section};

/// A file, its bytes, and its sections as `line title`.
pub(crate) const TABLE: &[Row<&[&str]>] = corpus! {
    "sections-plain" => &["3 Context", "7 Plan", "11 Handoff"],
    "sections-plain-crlf" => &["3 Context", "7 Plan", "11 Handoff"],
    "sections-plain-respaced" => &["2 Context", "6 Plan", "10 Handoff"],
    "sections-plain-reworded" => &["3 Context", "7 Plan", "12 Handoff"],
    "sections-mixed-endings" => &["1 Context", "5 Plan", "8 Handoff"],
    "sections-lone-carriage-returns" => &["1 Context", "5 Plan"],
    "sections-duplicates" => &["1 Review", "5 Plan", "9 Review"],
    "sections-duplicate-last-empty" => &["1 Review", "5 review"],
    "sections-fence-backticks" => &["1 Review"],
    "sections-fence-tildes" => &["1 Review", "9 Handoff"],
    "sections-fence-indented" => &["1 Review", "7 Handoff"],
    "sections-fence-longer" => &["1 Review", "10 Handoff"],
    "sections-fence-closed-by-shorter" => &["1 Review"],
    "sections-fence-unclosed" => &["1 Review"],
    "sections-fence-in-list" => &["1 Review", "9 Handoff"],
    "sections-fence-in-list-unclosed" => &["1 Review", "8 Handoff"],
    "sections-indented-code" => &["1 Review", "7 Handoff"],
    "sections-indented-up-to-three" => &["1 One", "3 Two", "5 Three"],
    "sections-trailing-spaces" => &["1 Review", "3 Plan"],
    "sections-closing-hashes" => &["1 Review", "3 Plan", "5 Notes #x", "7 C#", "9 Handoff"],
    "sections-tabs" => &["1 Review", "3 Plan", "5 Both sides"],
    "sections-emphasis" => &["1 Review", "3 Plan", "5 __Hand__off", "7 Notes"],
    "sections-code-title" => &["1 Review", "3 The Plan"],
    "sections-link-title" => &["1 Review", "3 Plan", "5 https://example.com"],
    "sections-bracket-title" => &["1 Context", "5 [Plan]"],
    "sections-entity-title" => &["1 Q&A", "3 *Plan*", "5 Review"],
    "sections-attribute-title" => &["1 Review {#review}", "3 Plan {.done}"],
    "sections-reviewers" => &["1 Reviewers", "5 Review notes", "7 Reviewed"],
    "sections-case-and-spaces" => &["1 REVIEW", "3 hand off", "5 re view"],
    "sections-unicode" => &["1 Übergabe", "3 计划", "5 🍊 Plan", "7 re\u{301}sume\u{301}"],
    "sections-nested" => &["1 Review", "13 Handoff"],
    "sections-level-one-ends" => &["1 Review", "9 Plan"],
    "sections-empty" => &["1 Context", "2 Plan", "5 Handoff", "8 Review", "10 Notes"],
    "sections-untitled" => &["1 Review", "13 ** **"],
    "sections-at-end" => &["3 Review"],
    "sections-at-start" => &["1 Review"],
    "sections-setext" => &["1 Context", "9 Plan"],
    "sections-setext-lines" => &["1 A review over two", "7 Plan"],
    "sections-setext-not" => &["11 Review"],
    "sections-in-list" => &["1 Context"],
    "sections-in-quote" => &["1 Context"],
    "sections-in-html" => &["1 Context", "10 Review"],
    "sections-in-comment" => &["1 Context", "11 Review"],
    "sections-in-comment-unclosed" => &["1 Context"],
    "sections-in-pre" => &["1 Context", "9 Review", "14 Handoff"],
    "sections-no-heading" => &[],
    "sections-after-paragraph" => &["2 Review", "4 Plan"],
    "sections-thematic-breaks" => &["5 Review"],
    "sections-archived" => &["1 Review (archived)", "5 Review"],
};

#[test]
fn every_section_is_found_on_its_line() {
    for (name, bytes, expected) in TABLE {
        let document = parse(name, bytes);
        let found: Vec<_> = document
            .sections()
            .iter()
            .map(|section| format!("{} {}", section.line(), section.name().title()))
            .collect();
        assert_eq!(found, *expected, "{name}");
    }
}

fn document(expected: &str) -> Document {
    let (name, bytes, _) = TABLE.iter().find(|(name, ..)| *name == expected).unwrap();
    parse(name, bytes)
}

fn content(file: &str, title: &str) -> String {
    let document = document(file);
    document.content(section(&document, title)).to_owned()
}

fn hash(file: &str, title: &str) -> SectionHash {
    section(&document(file), title).hash()
}

#[test]
fn the_last_section_of_a_name_wins() {
    assert_eq!(
        content("sections-duplicates", "Review"),
        "\nVerdict: PASS\n"
    );
    assert_eq!(content("sections-duplicate-last-empty", "REVIEW"), "");
}

#[test]
fn a_section_reaches_to_the_next_heading_of_level_one_or_two() {
    assert_eq!(
        content("sections-nested", "Review"),
        "\n### Findings\n\nNone.\n\n#### Detail\n\n###### Deep\n\nText.\n\n"
    );
    assert_eq!(
        content("sections-level-one-ends", "Review"),
        "\nVerdict: PASS\n\n"
    );
    assert_eq!(content("sections-untitled", "Review"), "\nA\n\n");
    assert_eq!(content("sections-setext", "Context"), "\nWhy.\n\n");
    assert_eq!(content("sections-setext", "Plan"), "Steps.\n");
}

#[test]
fn content_starts_after_the_heading_line_and_ends_with_the_file() {
    assert_eq!(content("sections-at-end", "Review"), "");
    assert_eq!(content("sections-at-start", "Review"), "Verdict: PASS");
    assert_eq!(
        content("sections-plain-crlf", "Handoff"),
        "\r\nDONE: all of it\r\n"
    );
    assert_eq!(
        content("sections-lone-carriage-returns", "Context"),
        "\rWhy.\r\r"
    );
    let unclosed = "\nVerdict: PASS\n\n```\n## Plan\n\nnever closed\n";
    assert_eq!(content("sections-fence-unclosed", "Review"), unclosed);
}

#[test]
fn indentation_before_a_heading_is_not_content_of_the_section_above() {
    assert_eq!(content("sections-indented-up-to-three", "One"), "\n");
    let document = document("sections-indented-up-to-three");
    let heading = section(&document, "Two").heading();
    assert_eq!(&document.text()[heading], "  ## Two\n");
}

#[test]
fn white_space_does_not_change_a_hash_and_words_do() {
    for title in ["Context", "Plan", "Handoff"] {
        let plain = hash("sections-plain", title);
        assert_eq!(plain, hash("sections-plain-crlf", title), "{title}");
        assert_eq!(plain, hash("sections-plain-respaced", title), "{title}");
        assert_ne!(plain, hash("sections-plain-reworded", title), "{title}");
    }
    // SHA-256 of the empty string, and of `Why.`.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(hash("sections-empty", "Handoff").to_string(), empty);
    let why = "9aaee400beef077c74f0e4d649a8d9255467a3f2342a7172f4d27e50a2cd27b0";
    assert_eq!(hash("sections-plain", "Context").to_string(), why);
}

#[test]
fn lines_and_indentation_count_in_a_hash() {
    // SHA-256 of the text with `\n` endings and no surrounding whitespace.
    let expected = "5043f823e2a2a8667cbb0fe74361dd365c817da5d52db768eec08142bca6aea8";
    let hash = SectionHash::of("\r\n\none \r\n\t\n  two\rthree\n\n");
    assert_eq!(hash.to_string(), expected);
    assert_eq!(format!("{hash:?}"), format!("SectionHash({expected})"));
    for other in [
        "one\n  two\nthree",
        "one\n\ntwo\nthree",
        "one\n\n  two three",
    ] {
        assert_ne!(SectionHash::of(other), hash, "{other:?}");
    }
}

#[test]
fn a_hash_survives_json() {
    let hash = SectionHash::of("Why.");
    let json = serde_json::to_string(&hash).unwrap();
    assert_eq!(json, format!("\"{hash}\""));
    assert_eq!(serde_json::from_str::<SectionHash>(&json).unwrap(), hash);
    for wrong in ["", "00", &"g".repeat(64), &"A".repeat(64), &"é".repeat(32)] {
        assert!(SectionHash::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_name_is_a_level_two_heading_of_one_line() {
    let name = SectionName::parse("## Handoff").unwrap();
    assert_eq!(name.to_string(), "## Handoff");
    assert_eq!(name.title(), "Handoff");
    for same in [
        "##  handoff ",
        "## **HANDOFF** ##",
        "##\tHandoff\n",
        " ## `Handoff`",
    ] {
        assert_eq!(SectionName::parse(same).as_ref(), Ok(&name), "{same:?}");
    }
    for other in [
        "Handoff",
        "# Handoff",
        "### Handoff",
        "##Handoff",
        "",
        "- ## Handoff",
    ] {
        let error = SectionNameError::NotLevelTwo {
            text: other.to_owned(),
        };
        assert_eq!(SectionName::parse(other), Err(error));
    }
    assert!(SectionName::from_title("a") < SectionName::from_title("B"));
    assert!(SectionName::parse("## A\n## B").is_err());
    assert!(SectionName::parse("Handoff\n---").is_err());
    assert_eq!(
        SectionName::parse("## ##").unwrap_err().to_string(),
        "`## ##` has no title; write the section as `## Title`"
    );
    assert_eq!(
        SectionName::parse("Handoff").unwrap_err().to_string(),
        "`Handoff` is not a level-2 heading; write the section as `## Title`"
    );
}

#[test]
fn a_name_survives_json_whatever_its_title() {
    for title in [
        "Handoff", "*Plan*", "#", "a_b_c", "<b>", "`", "Q&amp;A", "[x](y)", "\\", "计划",
    ] {
        let name = SectionName::from_title(title);
        let json = serde_json::to_string(&name).unwrap();
        let read: SectionName = serde_json::from_str(&json).unwrap();
        assert_eq!(read.title(), title, "{json}");
    }
    assert_eq!(
        SectionName::from_title("*Plan*").to_string(),
        "## \\*Plan\\*"
    );
    assert_eq!(SectionName::from_title("C#").to_string(), "## C#");
    assert!(serde_json::from_str::<SectionName>("\"Handoff\"").is_err());
}

/// A file that is not UTF-8, and the first invalid byte: offset, line, column.
const NOT_UTF8: &[Row<(usize, usize, usize)>] = corpus! {
    "bytes-invalid" => (8, 2, 1),
    "bytes-invalid-late" => (19, 4, 4),
    "bytes-invalid-crlf" => (6, 3, 1),
    "bytes-utf16" => (0, 1, 1),
    "bytes-latin1" => (3, 1, 4),
};

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    for (name, bytes, (offset, line, column)) in NOT_UTF8.iter().copied() {
        let error = DocumentError::NotUtf8 {
            offset,
            line,
            column,
        };
        assert_eq!(Document::parse(bytes), Err(error), "{name}");
    }
    assert_eq!(
        Document::parse(b"a\n\xff").unwrap_err().to_string(),
        "document is not UTF-8 at line `2`, column `1` (byte `2`); save it again as UTF-8"
    );
}

#[test]
fn a_document_over_the_limit_is_refused() {
    let fits = "x".repeat(MAX_DOCUMENT_BYTES);
    assert_eq!(read(&fits).text().len(), MAX_DOCUMENT_BYTES);
    let error = Document::parse(format!("{fits}x").as_bytes()).unwrap_err();
    assert_eq!(
        error,
        DocumentError::TooLarge {
            bytes: MAX_DOCUMENT_BYTES + 1,
            limit: MAX_DOCUMENT_BYTES
        }
    );
    assert!(
        error
            .to_string()
            .contains("more than the limit of `4194304`")
    );
}
