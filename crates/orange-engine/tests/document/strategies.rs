//! Texts, fields and names for the property tests.

use orange_engine::document::{FieldValue, SectionName};
use proptest::prelude::*;

/// Pieces of Markdown and YAML that have confused some parser.
#[rustfmt::skip]
const FRAGMENTS: &[&str] = &[
    "# One", "## Review", "## Plan ##", "### Three", "####### Seven", "##", "#", "## **Review**", "## [Plan]", "[Plan]: /url",
    "[a]:", "[a]: <", "/url", "'title", "Review\n---", "Plan\n===", "---", "===", "- - -", "----", "***", "```", "````",
    "~~~", "```rust", "   ```", "    ```", "\t```", "<!--", "-->", "<!-->", "<!-- c -->", "<pre>", "</pre>", "<script>",
    "<style", "<textarea>", "<?php", "?>", "<![CDATA[", "]]>", "<!X", ">", "<div>", "</div>", "<a", "<a href='", "- item",
    "* ", "1. one", "2)", "+", "1.", "  - nested", "> quote", "> ```", "> ## q", "- ## l", "- ```", "    code", "\t## tab",
    "   ## three", "text", "text  ", "text\\", "\\", "Verdict: PASS", "**Verdict:** FAIL", "PASS", "not PASS or FAIL",
    "DONE:", "DONE: x", "- **DONE:** y", "`DONE`:", "🍊", "é", "\u{feff}", "\0", "\u{b}", "\u{2028}", "&amp;", "&#35;",
    "`", "``", "*", "_", "[", "](", "![", "status: x", "status: |", "  more", "a: &x 1", "b: *x", "a: [1,", "]", "{a: 1}",
    "{", "}", "? k", ": v", "a:", "- 1", "...", "--- # c", "%YAML 1.2", "a: 'q", "a: \"q", "\"", "'", "# comment",
    "a: 1 # c", "version: 3", "!!str", "!x", "@", "\t",
];

fn line_break() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just("\n"), 2 => Just("\n\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just(""), 1 => Just(" ")]
}

pub(crate) fn hostile_text() -> impl Strategy<Value = String> {
    let piece = (prop::sample::select(FRAGMENTS), line_break());
    prop::collection::vec(piece, 0..14).prop_map(|pieces| {
        pieces
            .into_iter()
            .flat_map(|(text, end)| [text, end])
            .collect()
    })
}

pub(crate) fn body() -> impl Strategy<Value = String> {
    prop_oneof![4 => hostile_text(), 1 => any::<String>()]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let closed = (hostile_text(), line_break(), body())
        .prop_map(|(yaml, end, body)| format!("---\n{yaml}\n---{end}{body}"));
    let keys = (
        prop::collection::vec(key_line(), 0..6),
        prop_oneof![Just("\n"), Just("\r\n")],
        body(),
    )
        .prop_map(|(keys, end, body)| {
            let keys = numbered_line(keys, end);
            format!("---{end}{keys}---{end}{body}")
        });
    let opened = body().prop_map(|body| format!("---\n{body}"));
    prop_oneof![3 => body(), 3 => closed, 3 => keys, 1 => opened]
}

/// A frontmatter's lines: `k0`, `k1` …, each followed by one of these.
pub(crate) fn numbered_line(lines: Vec<String>, end: &str) -> String {
    let mut keys = String::new();
    for (index, line) in lines.into_iter().enumerate() {
        keys.extend([&format!("k{index}"), &line, end]);
    }
    keys
}

/// What can follow a key in a frontmatter.
pub(crate) fn key_line() -> impl Strategy<Value = String> {
    let lines = [
        ": plain",
        ": 5",
        ": true",
        ":",
        ": # c",
        ": ~ # c",
        ": 'x' # c",
        ": \"y\"   # c",
        ": |\n  a\n\n  b\n",
        ": >-\n  a",
        ": |+\n\n",
        ": [a,\n  b] # c",
        ": {a: b}",
        ":\n- a # c\n-",
        ":\n  - a\n  - b # c",
        ":\n  # c\n  x: 1\n  y:\n  # d",
        ":\n  later # c",
        ":\n  # c\n  later",
        ": a\n  b # c",
        ": &anchor x",
        ": !!str 5",
        ": &b !!int 7 # c",
        ": &c\n  - 1",
        ": &d",
        ": !!str",
        ":   ",
        ": 12345678901234567890",
        ": 0x1f",
        ": \"a\n  b\"",
        ": 2026-01-01T00:00:00Z\n\n# between",
        ": - x",
        ": a: b",
        ": | # c\n  x",
        ":\n-",
        ":\n  -\n  - |\n    z\n\n",
    ];
    prop::sample::select(lines.to_vec()).prop_map(str::to_owned)
}

pub(crate) fn value() -> impl Strategy<Value = FieldValue> {
    prop_oneof![
        any::<String>().prop_map(FieldValue::Text),
        hostile_text().prop_map(FieldValue::Text),
        "[a-z/.: #-]{0,8}".prop_map(FieldValue::Text),
        any::<i64>().prop_map(FieldValue::Integer),
        any::<bool>().prop_map(FieldValue::Boolean),
        Just(FieldValue::Null),
    ]
}

pub(crate) fn fields() -> impl Strategy<Value = Vec<(String, FieldValue)>> {
    let key = prop_oneof![4 => "k[0-5]", 2 => "[a-z_]{1,6}", 1 => any::<String>()];
    prop::collection::btree_map(key, value(), 0..5).prop_map(|fields| fields.into_iter().collect())
}

pub(crate) fn name() -> impl Strategy<Value = SectionName> {
    prop_oneof![
        Just(SectionName::from_title("Review")),
        Just(SectionName::from_title("plan")),
        hostile_text().prop_filter_map("untitled", titled_section),
        any::<String>().prop_filter_map("untitled", titled_section),
    ]
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature of a strategy's filter"
)]
fn titled_section(text: String) -> Option<SectionName> {
    Some(SectionName::from_title(&text)).filter(|name| !name.title().is_empty())
}
