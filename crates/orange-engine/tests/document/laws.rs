//! Properties that hold for every text.

use orange_engine::document::reading::{
    VerdictMode, VerdictReading, empty_fields, field_with_content, has_content, verdict,
};
use orange_engine::document::{
    Document, FieldValue, Frontmatter, SectionHash, SectionName, demote_headings,
};
use proptest::prelude::*;

use crate::read;
use crate::strategies::{body, fields, key_line, name, numbered_line, text, value};

fn borrow_fields(fields: &[(String, FieldValue)]) -> Vec<(&str, FieldValue)> {
    fields
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()))
        .collect()
}

fn section_hashes(document: &Document) -> Vec<(String, SectionHash)> {
    document
        .sections()
        .iter()
        .map(|section| (section.name().title().to_owned(), section.hash()))
        .collect()
}

proptest! {
    // Failing cases belong in the tables, not in a separate regressions file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_keeps_every_byte_and_parts_fit(text in text()) {
        let document = read(&text);
        prop_assert_eq!(document.text(), &text);
        prop_assert!(text.ends_with(document.body()));
        let mut end = 0;
        for section in document.sections() {
            prop_assert!(section.heading().start >= end);
            prop_assert_eq!(section.heading().end, section.content().start);
            end = section.content().end;
            prop_assert_eq!(SectionHash::of(document.content(section)), section.hash());
            prop_assert!(!section.name().title().is_empty());
            let last = document.section(section.name()).unwrap();
            prop_assert!(last.line() >= section.line());
        }
    }

    #[test]
    fn fields_read_back_and_nothing_else_changes(text in text(), fields in fields()) {
        let before = read(&text);
        let after = before.with_fields(&borrow_fields(&fields));
        prop_assert_eq!(&after, &read(after.text()));
        prop_assert_eq!(section_hashes(&after), section_hashes(&before));
        if fields.is_empty() {
            prop_assert_eq!(after.text(), text);
            return Ok(());
        }
        let Frontmatter::Present(read) = after.frontmatter() else {
            return Err(TestCaseError::fail(format!("not readable: {:?}", after.text())));
        };
        for (key, value) in &fields {
            prop_assert_eq!(read.value(key), Some(value));
        }
        prop_assert!(after.body().ends_with(before.body()));
        match before.frontmatter() {
            Frontmatter::Absent => prop_assert_eq!(after.body(), before.body()),
            Frontmatter::Damaged(_) => {
                let block = text.trim_start_matches('\u{feff}').strip_suffix(before.body()).unwrap();
                prop_assert!(after.body().contains(block));
            }
            Frontmatter::Present(old) if after.body() == before.body() => {
                let is_set = |key: &&str| fields.iter().any(|(set, _)| set == key);
                let others: Vec<_> = old.keys().filter(|key| !is_set(key)).collect();
                for key in others {
                    prop_assert_eq!(read.value(key), old.value(key));
                    prop_assert_eq!(read.text(key), old.text(key));
                }
            }
            Frontmatter::Present(_) => prop_assert!(after.body().contains("damaged-frontmatter")),
        }
        let again = after.with_fields(&borrow_fields(&fields));
        prop_assert_eq!(again.text(), after.text());
    }

    #[test]
    fn usual_frontmatter_is_always_edited_in_place(
        keys in prop::collection::vec(key_line().prop_filter("broken", |line| {
            ![": - x", ": a: b"].contains(&line.as_str())
        }), 1..6),
        body in body(),
        fields in prop::collection::btree_map("k[0-9]", value(), 1..4),
    ) {
        let keys = numbered_line(keys, "
");
        let before = read(&format!("---\n{keys}---\n{body}"));
        prop_assert!(matches!(before.frontmatter(), Frontmatter::Present(_)), "{:?}", before);
        let fields: Vec<_> = fields.into_iter().collect();
        let after = before.with_fields(&borrow_fields(&fields));
        prop_assert_eq!(after.body(), body, "{}", before.text());
    }

    #[test]
    fn a_section_is_set_and_no_other_changes(text in text(), name in name(), content in body()) {
        let before = read(&text);
        let after = before.with_section(&name, &content);
        let others = |document: &Document| {
            let last = document.sections().iter().rposition(|section| *section.name() == name);
            let names = document.sections().iter().map(|section| section.name().clone()).enumerate();
            names.filter(|(index, _)| Some(*index) != last).map(|(_, name)| name).collect::<Vec<_>>()
        };
        prop_assert_eq!(others(&before), others(&after), "{:?}", after.text());
        let section = after.section(&name);
        prop_assert!(section.is_some(), "{:?}", after.text());
        prop_assert_eq!(before.frontmatter(), after.frontmatter());
        let written: String = after.content(section.unwrap()).to_owned();
        for word in content.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)) {
            prop_assert!(written.contains(word), "{:?} lost from {:?}", word, written);
        }
        let again = after.with_section(&name, &written);
        prop_assert_eq!(again.text(), after.text());
    }

    #[test]
    fn archiving_renames_and_changes_nothing_else(text in text(), pick in any::<prop::sample::Index>()) {
        let before = read(&text);
        if before.sections().is_empty() {
            return Ok(());
        }
        let name = before.sections()[pick.index(before.sections().len())].name().clone();
        let after = before.with_section_archived(&name);
        prop_assert!(after.section(&name).is_none());
        prop_assert_eq!(before.sections().len(), after.sections().len());
        for (old, new) in before.sections().iter().zip(after.sections()) {
            prop_assert_eq!(before.content(old), after.content(new));
            let expected = if *old.name() == name {
                SectionName::from_title(&format!("{} (archived)", old.name().title()))
            } else {
                old.name().clone()
            };
            prop_assert_eq!(new.name(), &expected);
        }
    }

    #[test]
    fn injected_text_adds_and_hides_nothing(
        context in body(),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let demoted = demote_headings(&context);
        let text = format!("## Context{ending}{ending}{demoted}{ending}{ending}## [Plan]{ending}real{ending}");
        let document = read(&text);
        let names: Vec<_> = document.sections().iter().map(|section| section.name().title()).collect();
        prop_assert_eq!(names, ["Context", "[Plan]"], "{:?}", text);
        let plan = document.section(&SectionName::from_title("[Plan]")).unwrap();
        prop_assert_eq!(document.content(plan).trim(), "real");
    }

    #[test]
    fn prose_is_injected_byte_for_byte(context in "[a-zA-Z0-9 .,:;!?\n\u{e9}\u{1f34a}-]{0,80}") {
        let is_prose = context.lines().all(|line| !line.trim_start().starts_with('-'));
        if is_prose {
            prop_assert_eq!(demote_headings(&context), context);
        }
    }

    #[test]
    fn a_name_reads_back_from_what_it_shows(name in name()) {
        let shown = name.to_string();
        let parsed = SectionName::parse(&shown);
        let title = parsed.as_ref().map(SectionName::title);
        prop_assert_eq!(title, Ok(name.title()), "{:?}", shown);
        let found = read(&format!("{shown}\n"));
        prop_assert!(found.section(&name).is_some(), "{:?}", shown);
    }

    #[test]
    fn white_space_an_editor_changes_does_not_make_a_section_fresh(
        lines in prop::collection::vec("[a-z#*é🍊]{0,6}", 0..6),
        ends in prop::collection::vec(prop_oneof![Just(" \n"), Just("\t\r\n"), Just("\n")], 6),
    ) {
        let written = lines.join("\n");
        let edited: String = lines.iter().zip(ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
        prop_assert_eq!(SectionHash::of(&written), SectionHash::of(&format!("\n\n{edited}\n \n")));
    }

    #[test]
    fn different_text_has_different_hashes(one in "[a-z\n]{0,9}", other in "[a-z\n]{0,9}") {
        let same = one.trim_matches('\n') == other.trim_matches('\n');
        prop_assert_eq!(SectionHash::of(&one) == SectionHash::of(&other), same);
        let hash = SectionHash::of(&one);
        prop_assert_eq!(SectionHash::parse(&hash.to_string()), Ok(hash));
    }

    #[test]
    fn readings_agree_with_each_other(content in body()) {
        let names = ["DONE", "Verdict", "é"].map(str::to_owned);
        let filled = field_with_content(&content, &names);
        let empty = empty_fields(&content, &names);
        prop_assert!(filled.is_none_or(|name| !empty.contains(&name)));
        prop_assert!(filled.is_none() || has_content(&content));
        let first = verdict(&content, VerdictMode::FirstLine);
        let scanned = verdict(&content, VerdictMode::Scan);
        match &first {
            VerdictReading::Found(_) => prop_assert_eq!(&first, &scanned),
            VerdictReading::Absent => prop_assert!(!has_content(&content)),
            VerdictReading::Both { line } | VerdictReading::Unreadable { line } => {
                prop_assert!(line.chars().count() <= 80 && !line.is_empty());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(document) = Document::parse(&bytes) {
            prop_assert_eq!(document.text().as_bytes(), &bytes[..]);
        }
    }
}
