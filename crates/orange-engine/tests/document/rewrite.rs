//! What a rewrite changes in the corpus, byte for byte.

use orange_engine::document::{Document, FieldValue, Frontmatter, SectionName};

use crate::frontmatter::{self, document};
use crate::{fields, sections, verdicts};
use crate::{parse, read};

fn corpus() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let sections = sections::TABLE
        .iter()
        .map(|(name, bytes, _)| (*name, *bytes));
    let frontmatter = frontmatter::TABLE
        .iter()
        .map(|(name, bytes, _)| (*name, *bytes));
    let verdicts = verdicts::TABLE
        .iter()
        .map(|(name, bytes, _)| (*name, *bytes));
    let fields = fields::TABLE.iter().map(|(name, bytes, _)| (*name, *bytes));
    sections.chain(frontmatter).chain(verdicts).chain(fields)
}

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

#[test]
fn reading_and_setting_nothing_change_no_byte() {
    for (name, bytes) in corpus() {
        let document = parse(name, bytes);
        assert_eq!(document.text().as_bytes(), bytes, "{name}");
        assert_eq!(document.with_fields(&[]), document, "{name}");
    }
}

#[test]
fn setting_an_equal_value_changes_no_byte() {
    for (name, bytes) in corpus() {
        let document = parse(name, bytes);
        if let Frontmatter::Present(fields) = document.frontmatter() {
            let same: Vec<_> = fields
                .keys()
                .filter_map(|key| Some((key, fields.value(key)?.clone())))
                .collect();
            assert_eq!(document.with_fields(&same), document, "{name}");
        }
        for section in document.sections() {
            let last = document.section(section.name()).unwrap();
            let same = document.with_section(section.name(), document.content(last));
            assert_eq!(same, document, "{name}");
        }
    }
}

#[test]
fn setting_a_field_keeps_every_section_and_reads_back() {
    for (name, bytes) in corpus() {
        let before = parse(name, bytes);
        let fields = [
            ("status", text("agent-review")),
            ("version", FieldValue::Integer(8)),
        ];
        let after = before.with_fields(&fields);
        let Frontmatter::Present(read) = after.frontmatter() else {
            unreachable!("{name}: {}", after.text());
        };
        assert_eq!(read.text("status"), Some("agent-review"), "{name}");
        assert_eq!(read.integer("version"), Some(8), "{name}");
        let said = |document: &Document| -> Vec<_> {
            let sections = document.sections().iter();
            sections
                .map(|section| (section.name().clone(), section.hash()))
                .collect()
        };
        assert_eq!(said(&after), said(&before), "{name}");
        assert!(after.body().ends_with(before.body()), "{name}");
        assert_eq!(after.with_fields(&fields), after, "{name}");
    }
}

/// Sets `status` to `new` in a file and returns the removed and added lines.
fn changed_lines(name: &str) -> (Vec<String>, Vec<String>) {
    let before = document(name);
    let after = before.with_fields(&[("status", text("new"))]);
    let lines = |document: &Document| -> Vec<String> {
        document
            .text()
            .split_inclusive('\n')
            .map(str::to_owned)
            .collect()
    };
    let (mut removed, mut added) = (lines(&before), lines(&after));
    while !removed.is_empty() && !added.is_empty() && removed[0] == added[0] {
        removed.remove(0);
        added.remove(0);
    }
    while !removed.is_empty() && !added.is_empty() && removed.last() == added.last() {
        removed.pop();
        added.pop();
    }
    (removed, added)
}

/// A file, the lines that setting `status` removes, and those it adds.
const CHANGES: &[(&str, &str, &str)] = &[
    ("frontmatter-plain", "status: working\n", "status: new\n"),
    (
        "frontmatter-comments",
        "status: working # do not edit\n",
        "status: new # do not edit\n",
    ),
    (
        "frontmatter-crlf",
        "status: working # note\r\n",
        "status: new # note\r\n",
    ),
    (
        "frontmatter-mixed-endings",
        "status: working\r\n",
        "status: new\r\n",
    ),
    ("frontmatter-bom", "status: working\n", "status: new\n"),
    (
        "frontmatter-no-final-newline",
        "status: working\n",
        "status: new\n",
    ),
    (
        "frontmatter-fence-spaces",
        "status: working\n",
        "status: new\n",
    ),
    (
        "frontmatter-quoting",
        "status: \"work\\u0069ng\"\n",
        "status: new\n",
    ),
    (
        "frontmatter-block-scalar",
        "status: working\n",
        "status: new\n",
    ),
    ("frontmatter-lists", "status: working\n", "status: new\n"),
    (
        "frontmatter-values-below",
        "  working # note\n",
        "  new # note\n",
    ),
    (
        "frontmatter-multi-line-plain",
        "status: working\n",
        "status: new\n",
    ),
    (
        "frontmatter-anchor",
        "status: &now working\n",
        "status: &now new\n",
    ),
    (
        "frontmatter-flow",
        "{id: k3f9, status: working, bare, version: 7,}\n",
        "{id: k3f9, status: new, bare, version: 7,}\n",
    ),
    (
        "frontmatter-indented",
        "  status: working\n",
        "  status: new\n",
    ),
    ("frontmatter-unicode", "status: working\n", "status: new\n"),
    (
        "frontmatter-dashes-inside",
        "status: working\n",
        "status: new\n",
    ),
    (
        "frontmatter-document-end",
        "status: working\n",
        "status: new\n",
    ),
    ("frontmatter-explicit-keys", ": working\n", ": new\n"),
    ("frontmatter-empty", "", "status: new\n"),
    ("frontmatter-only-comment", "", "status: new\n"),
    ("frontmatter-types", "", "status: new\n"),
    ("frontmatter-flow-empty", "{}\n", "{status: new}\n"),
    ("frontmatter-absent", "", "---\nstatus: new\n---\n"),
    ("frontmatter-empty-file", "", "---\nstatus: new\n---\n"),
    (
        "frontmatter-bom-absent",
        "\u{feff}## Plan\n",
        "\u{feff}---\nstatus: new\n---\n## Plan\n",
    ),
];

#[test]
fn changing_one_field_changes_only_its_line() {
    for (name, removed, added) in CHANGES {
        let (old, new) = changed_lines(name);
        assert_eq!(
            (old.concat().as_str(), new.concat().as_str()),
            (*removed, *added),
            "{name}"
        );
    }
}

#[test]
fn a_value_of_several_lines_is_replaced_whole() {
    let document = document("frontmatter-lists").with_fields(&[
        ("labels", text("none")),
        ("children", FieldValue::Null),
        ("owner", text("Ann")),
        ("nested", FieldValue::Boolean(true)),
    ]);
    let expected = "---\nid: k3f9\nlabels: none # of the forge # second\n# between\nchildren: null\n\
                    owner: Ann # flow\nstatus: working\nnested: true\n---\n";
    assert_eq!(document.text(), expected);
    let document = self::document("frontmatter-block-scalar").with_fields(&[
        ("summary", text("a: b")),
        ("folded", FieldValue::Integer(-1)),
    ]);
    let expected = "---\nid: k3f9\nsummary: \"a: b\"\n\nstatus: working\nfolded: -1\nversion: 7\n---\n## Plan\n";
    assert_eq!(document.text(), expected);
}

#[test]
fn an_anchor_stays_with_its_own_value() {
    let after = |yaml: &str, key| {
        let document = read(&format!("---\n{yaml}---\n"));
        let changed = document.with_fields(&[(key, text("new"))]);
        changed.text()[4..].trim_end_matches("---\n").to_owned()
    };
    assert_eq!(after("a: &x 1 # c\nb: *x\n", "a"), "a: &x new # c\nb: *x\n");
    assert_eq!(after("a: &x 1\nb: *x # c\n", "b"), "a: &x 1\nb: new # c\n");
    assert_eq!(after("a: &x\n  - 1\n", "a"), "a: &x new\n");
    assert_eq!(after("a: [&x 1, 2]\n", "a"), "a: new\n");
    assert_eq!(after("a: !!int &x 1\n", "a"), "a: &x new\n");
}

#[test]
fn missing_keys_are_added_last_in_the_files_own_form() {
    let fields = [
        ("b", text("x")),
        ("a", FieldValue::Integer(1)),
        ("b", text("zed")),
    ];
    let added = |name| document(name).with_fields(&fields).text().to_owned();
    assert_eq!(
        added("frontmatter-crlf"),
        "---\r\nid: k3f9\r\nstatus: working # note\r\nversion: 7\r\nb: zed\r\na: 1\r\n---\r\n\r\n## Plan\r\n\r\nSteps.\r\n"
    );
    assert_eq!(
        added("frontmatter-indented"),
        "---\n  id: k3f9\n  status: working\n  b: zed\n  a: 1\n---\n"
    );
    assert_eq!(
        added("frontmatter-flow"),
        "---\n{id: k3f9, status: working, bare, version: 7, b: zed, a: 1,}\n---\n## Plan\n"
    );
    assert_eq!(
        added("frontmatter-no-final-newline"),
        "---\nstatus: working\nb: zed\na: 1\n---"
    );
}

#[test]
fn a_damaged_frontmatter_is_kept_in_a_fence() {
    let repaired = |name| {
        document(name)
            .with_fields(&[("status", text("new"))])
            .text()
            .to_owned()
    };
    assert_eq!(
        repaired("damage-duplicate"),
        "---\nstatus: new\n---\n```damaged-frontmatter\n---\nid: k3f9\nstatus: working\nversion: 7\n\
         status: reviewing\n---\n```\n## Plan\n"
    );
    assert_eq!(
        repaired("damage-unclosed-crlf"),
        "---\r\nstatus: new\r\n---\r\n```damaged-frontmatter\r\n---\r\n```\r\n\
         status: working\r\n\r\n## Plan\r\n\r\nSteps.\r\n"
    );
    assert_eq!(
        repaired("damage-fences-inside"),
        "---\nstatus: new\n---\n`````damaged-frontmatter\n---\nstatus: [\n```\n````\n---\n`````\n\
         ## Plan\n\nSteps.\n"
    );
    assert_eq!(
        repaired("damage-unclosed-only-line"),
        "---\nstatus: new\n---\n```damaged-frontmatter\n---\n```\n"
    );
}

#[test]
fn a_readable_frontmatter_without_room_for_a_key_is_kept_in_a_fence_too() {
    let after = document("frontmatter-document-end").with_fields(&[("id", text("k3f9"))]);
    assert_eq!(
        after.text(),
        "---\nid: k3f9\n---\n```damaged-frontmatter\n---\nstatus: working\n...\n---\n```\n## Plan\n"
    );
}

#[test]
fn any_text_is_written_so_that_it_reads_back() {
    let table = [
        ("agent-review", "agent-review"),
        ("fix/k3f9.2", "fix/k3f9.2"),
        ("two words", "two words"),
        ("Größe", "Größe"),
        ("", "\"\""),
        (" padded ", "\" padded \""),
        ("- item", "\"- item\""),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("42", "\"42\""),
        ("1.5", "\"1.5\""),
        ("True", "\"True\""),
        ("no", "\"no\""),
        ("null", "\"null\""),
        ("~", "\"~\""),
        ("2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""),
        ("say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""),
        ("a\nb\r\tc", "\"a\\nb\\r\\tc\""),
        (
            "\0\u{1b}\u{7f}\u{85}\u{a0}",
            "\"\\x00\\x1b\\x7f\\x85\u{a0}\"",
        ),
        ("\u{2028}\u{feff}\u{ffff}", "\"\\u2028\\ufeff\\uffff\""),
        ("🍊 \u{10ffff}", "\"🍊 \u{10ffff}\""),
        ("@x", "\"@x\""),
        ("---", "\"---\""),
        ("{a}", "\"{a}\""),
    ];
    for (value, yaml) in table {
        let document = read("").with_fields(&[("key", text(value))]);
        assert_eq!(document.text(), format!("---\nkey: {yaml}\n---\n"));
        let Frontmatter::Present(fields) = document.frontmatter() else {
            unreachable!("{document:?}");
        };
        assert_eq!(fields.value("key"), Some(&text(value)));
    }
}

#[test]
fn a_section_is_replaced_or_added() {
    let name = SectionName::from_title("Notes");
    let set =
        |before: &str, content: &str| read(before).with_section(&name, content).text().to_owned();
    assert_eq!(set("", "a"), "## Notes\n\na\n");
    assert_eq!(set("Text", "a"), "Text\n\n## Notes\n\na\n");
    assert_eq!(set("Text\r\n", "a"), "Text\r\n\r\n## Notes\r\n\r\na\r\n");
    assert_eq!(
        set("---\na: 1\n---", "a"),
        "---\na: 1\n---\n## Notes\n\na\n"
    );
    assert_eq!(set("## Notes", "a"), "## Notes\n\na\n");
    assert_eq!(
        set("## Notes\nold\n## Plan\n", "\n  a\n b \n\n"),
        "## Notes\n\n  a\n b\n\n## Plan\n"
    );
    assert_eq!(set("## Notes\nold\n## Plan\n", ""), "## Notes\n\n## Plan\n");
    assert_eq!(
        set("## Notes\n1\n## Notes\n2\n", "3"),
        "## Notes\n1\n## Notes\n\n3\n"
    );
    assert_eq!(
        set("## Plan\n\n```\nopen", "a"),
        "## Plan\n\n```\nopen\n```\n\n## Notes\n\na\n"
    );
    assert_eq!(set("<!-- open\n", "a"), "<!-- open\n-->\n\n## Notes\n\na\n");
    assert_eq!(
        set("## Plan\n", "## Plan\n\nb"),
        "## Plan\n\n## Notes\n\n#### Plan\n\nb\n"
    );
}

#[test]
fn archiving_changes_headings_only() {
    let review = SectionName::from_title("review");
    let archived = |text: &str| read(text).with_section_archived(&review).text().to_owned();
    assert_eq!(
        archived(
            "## Review  \r\nx\r\n\r\n## Reviewers\r\nReview\r\n---\r\n```\r\n## Review\r\n```"
        ),
        "## Review (archived)\r\nx\r\n\r\n## Reviewers\r\n## Review (archived)\r\n```\r\n## Review\r\n```"
    );
    assert_eq!(archived("## Plan\n"), "## Plan\n");
    assert_eq!(archived("## Review"), "## Review (archived)");
}
