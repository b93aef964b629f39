//! How the frontmatter in the corpus parses, and where it is damaged.

use orange_engine::document::{Document, FieldValue, Frontmatter};

use crate::{Row, corpus, parse};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    Absent,
    /// `key=text` for each key, `key` alone for one without text.
    Present(&'static [&'static str]),
    /// Line, column, and a part of the message.
    Damaged(usize, usize, &'static str),
}
use Expected::{Absent, Damaged, Present};

/// A file, its bytes, and its frontmatter.
pub(crate) const TABLE: &[Row<Expected>] = corpus! {
    "frontmatter-plain" => Present(&["id=k3f9", "status=working", "version=7"]),
    "frontmatter-absent" => Absent,
    "frontmatter-empty-file" => Absent,
    "frontmatter-empty" => Present(&[]),
    "frontmatter-comments" => Present(&["status=working", "version=7"]),
    "frontmatter-only-comment" => Present(&[]),
    "frontmatter-crlf" => Present(&["id=k3f9", "status=working", "version=7"]),
    "frontmatter-mixed-endings" => Present(&["id=k3f9", "status=working", "version=7"]),
    "frontmatter-bom" => Present(&["id=k3f9", "status=working", "version=7"]),
    "frontmatter-bom-absent" => Absent,
    "frontmatter-no-final-newline" => Present(&["status=working"]),
    "frontmatter-fence-spaces" => Present(&["status=working"]),
    "frontmatter-quoting" => Present(&[
        "id=k3f9", "status=working", "version=7", "title=it's: #1", "empty=",
    ]),
    "frontmatter-types" => Present(&[
        "text=plain words", "number=42", "negative=-7", "padded=007", "hex=0x1F",
        "large=12345678901234567890", "float=1.5", "yes=true", "no=False", "nothing", "tilde",
        "null_word", "quoted_number=42", "tagged=42", "time=2026-01-02T03:04:05Z", "word=yes",
    ]),
    "frontmatter-block-scalar" => Present(&[
        "id=k3f9", "summary=First line.\n\n# not a comment\nstatus: not a key\n",
        "status=working", "folded=one two", "version=7",
    ]),
    "frontmatter-lists" => Present(&["id=k3f9", "labels", "children", "owner", "status=working", "nested"]),
    "frontmatter-values-below" => Present(&["status=working", "version=7"]),
    "frontmatter-multi-line-plain" => Present(&["title=one two three", "status=working"]),
    "frontmatter-anchor" => Present(&["status=working", "previous", "kind=5"]),
    "frontmatter-flow" => Present(&["id=k3f9", "status=working", "bare", "version=7"]),
    "frontmatter-flow-empty" => Present(&[]),
    "frontmatter-indented" => Present(&["id=k3f9", "status=working"]),
    "frontmatter-unicode" => Present(&["title=Größe 🍊 计划", "status=working", "schlüssel=wert"]),
    "frontmatter-dashes-inside" => Present(&["title=a --- b", "rule=---", "status=working"]),
    "frontmatter-not-first" => Absent,
    "frontmatter-four-dashes" => Absent,
    "frontmatter-document-end" => Present(&["status=working"]),
    "frontmatter-explicit-keys" => Present(&["status=working", "version"]),
    "damage-unclosed" => Damaged(1, 1, "add a line `---` after its last key"),
    "damage-unclosed-only-line" => Damaged(1, 1, "not closed"),
    "damage-unclosed-crlf" => Damaged(1, 1, "not closed"),
    "damage-unclosed-list-dashes" => Damaged(1, 1, "not closed"),
    "damage-broken-quote" => Damaged(3, 1, "broken YAML: "),
    "damage-broken-bracket" => Damaged(4, 7, "broken YAML: "),
    "damage-bad-indent" => Damaged(3, 11, "mapping values are not allowed"),
    "damage-colon-in-value" => Damaged(3, 11, "mapping values are not allowed"),
    "damage-conflict-markers" => Damaged(3, 1, "broken YAML: "),
    "damage-tab-indent" => Damaged(3, 2, "broken YAML: "),
    "damage-list" => Damaged(2, 1, "write one `key: value` per line"),
    "damage-scalar" => Damaged(2, 1, "write one `key: value` per line"),
    "damage-duplicate" => Damaged(5, 1, "key `status` appears twice; keep one of them"),
    "damage-duplicate-quoted" => Damaged(3, 1, "key `status` appears twice"),
    "damage-two-documents" => Damaged(3, 1, "more than one YAML document"),
    "damage-unknown-alias" => Damaged(3, 9, "unknown anchor"),
    "damage-control-character" => Damaged(2, 9, "broken YAML: "),
    "damage-nul" => Damaged(2, 12, "broken YAML: "),
    "damage-directive" => Damaged(3, 1, "broken YAML: "),
    "damage-fences-inside" => Damaged(3, 1, "broken YAML: "),
    "damage-thematic-break" => Damaged(3, 1, "not a list of keys"),
};

#[test]
fn every_frontmatter_is_read_or_its_damage_is_placed() {
    for (name, bytes, expected) in TABLE {
        match (parse(name, bytes).frontmatter(), expected) {
            (Frontmatter::Absent, Absent) => {}
            (Frontmatter::Present(fields), Present(expected)) => {
                let read: Vec<_> = fields
                    .keys()
                    .map(|key| match fields.text(key) {
                        Some(text) => format!("{key}={text}"),
                        None => key.to_owned(),
                    })
                    .collect();
                assert_eq!(read, *expected, "{name}");
            }
            (Frontmatter::Damaged(damage), Damaged(line, column, message)) => {
                assert_eq!(
                    (damage.line, damage.column),
                    (*line, *column),
                    "{name}: {damage}"
                );
                assert!(damage.message.contains(message), "{name}: {damage}");
            }
            (read, expected) => unreachable!("{name}: {read:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn the_body_below_a_damaged_frontmatter_stays_readable() {
    for (name, bytes, expected) in TABLE {
        if let Damaged(..) = expected {
            let document = parse(name, bytes);
            let titles: Vec<_> = document
                .sections()
                .iter()
                .map(|section| section.name().title())
                .collect();
            let expected: &[&str] = match *name {
                "damage-unclosed" => &["Plan", "Review"],
                "damage-unclosed-only-line" => &[],
                // Indented dashes do not close the frontmatter: they underline a heading.
                "damage-unclosed-list-dashes" => &["status: working", "Plan"],
                "damage-thematic-break" => &["Review"],
                _ => &["Plan"],
            };
            assert_eq!(titles, expected, "{name}");
        }
    }
}

#[test]
fn damage_is_shown_with_its_place() {
    let document = document("damage-duplicate");
    let Frontmatter::Damaged(damage) = document.frontmatter() else {
        unreachable!("{document:?}");
    };
    let shown = "line 5, column 1: key `status` appears twice; keep one of them";
    assert_eq!(damage.to_string(), shown);
}

pub(crate) fn document(expected: &str) -> Document {
    let (name, bytes, _) = TABLE.iter().find(|(name, ..)| *name == expected).unwrap();
    parse(name, bytes)
}

#[test]
fn values_have_the_types_of_the_core_schema() {
    let document = document("frontmatter-types");
    let Frontmatter::Present(fields) = document.frontmatter() else {
        unreachable!("{document:?}");
    };
    let text = |text: &str| Some(FieldValue::Text(text.to_owned()));
    let table = [
        ("text", text("plain words")),
        ("number", Some(FieldValue::Integer(42))),
        ("negative", Some(FieldValue::Integer(-7))),
        ("padded", Some(FieldValue::Integer(7))),
        ("hex", Some(FieldValue::Integer(31))),
        ("large", text("12345678901234567890")),
        ("float", text("1.5")),
        ("yes", Some(FieldValue::Boolean(true))),
        ("no", Some(FieldValue::Boolean(false))),
        ("nothing", Some(FieldValue::Null)),
        ("tilde", Some(FieldValue::Null)),
        ("null_word", Some(FieldValue::Null)),
        ("quoted_number", text("42")),
        ("tagged", text("42")),
        ("time", text("2026-01-02T03:04:05Z")),
        ("word", text("yes")),
        ("missing", None),
    ];
    for (key, expected) in table {
        assert_eq!(fields.value(key).cloned(), expected, "{key}");
    }
    assert_eq!(fields.integer("number"), Some(42));
    assert_eq!(fields.integer("quoted_number"), None);
    assert_eq!(fields.boolean("yes"), Some(true));
    assert_eq!(fields.boolean("word"), None);
}

#[test]
fn the_body_starts_after_the_frontmatter() {
    assert_eq!(
        document("frontmatter-plain").body(),
        "\n## Plan\n\nSteps.\n"
    );
    assert_eq!(
        document("frontmatter-bom-absent").body(),
        "## Plan\n\nSteps.\n"
    );
    assert_eq!(document("frontmatter-no-final-newline").body(), "");
    assert_eq!(
        document("damage-unclosed-crlf").body(),
        "status: working\r\n\r\n## Plan\r\n\r\nSteps.\r\n"
    );
}
