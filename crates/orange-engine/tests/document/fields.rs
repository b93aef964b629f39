//! Which handoff fields in the corpus have content, and which are empty.

use orange_engine::document::reading::{empty_fields, field_with_content, has_content};

use crate::{Row, corpus, parse, section};

/// The first field of a handoff with content, and the empty ones.
type Expected = (Option<&'static str>, &'static [&'static str]);

/// A file, its bytes, and the fields of its handoff.
pub(crate) const TABLE: &[Row<Expected>] = corpus! {
    "fields-filled" => (Some("DONE"), &[]),
    "fields-empty-then-text" => (None, &["DONE"]),
    "fields-empty-crlf" => (None, &["DONE"]),
    "fields-empty-spaces" => (None, &["DONE", "REMAINING"]),
    "fields-second-filled" => (Some("REMAINING"), &["DONE"]),
    "fields-list" => (Some("DONE"), &[]),
    "fields-list-numbered" => (Some("UNCERTAIN"), &["REMAINING"]),
    "fields-list-nested" => (Some("DONE"), &[]),
    "fields-no-list-marker" => (None, &[]),
    "fields-list-empty" => (None, &["DONE", "REMAINING"]),
    "fields-bold" => (Some("DONE"), &[]),
    "fields-bold-name" => (Some("REMAINING"), &[]),
    "fields-code-name" => (Some("DECISIONS"), &[]),
    "fields-underscores" => (Some("UNCERTAIN"), &[]),
    "fields-marks-only" => (None, &["DONE", "REMAINING"]),
    "fields-lower-case" => (None, &[]),
    "fields-longer-name" => (None, &[]),
    "fields-space-before-colon" => (Some("DONE"), &[]),
    "fields-no-space" => (Some("DONE"), &[]),
    "fields-indented" => (Some("DONE"), &[]),
    "fields-before-fence" => (Some("DONE"), &[]),
    "fields-after-fence" => (Some("DONE"), &[]),
    "fields-in-fence" => (None, &[]),
    "fields-in-fence-list" => (None, &[]),
    "fields-in-comment" => (None, &[]),
    "fields-in-html" => (Some("REMAINING"), &[]),
    "fields-comment-content" => (Some("REMAINING"), &["DONE"]),
    "fields-after-comment" => (Some("DONE"), &[]),
    "fields-prose" => (None, &[]),
    "fields-quote" => (None, &[]),
    "fields-filled-later" => (Some("DONE"), &[]),
    "fields-unicode" => (Some("DONE"), &[]),
    "fields-none" => (None, &[]),
    "fields-comment-section" => (None, &[]),
};

fn names() -> [String; 4] {
    ["DONE", "REMAINING", "DECISIONS", "UNCERTAIN"].map(str::to_owned)
}

#[test]
fn every_handoff_field_is_found() {
    for (name, bytes, expected) in TABLE {
        let document = parse(name, bytes);
        let content = document.content(section(&document, "Handoff"));
        let names = names();
        let filled = field_with_content(content, &names);
        let empty = empty_fields(content, &names);
        assert_eq!((filled, empty.as_slice()), *expected, "{name}");
        let commented = ["fields-in-comment", "fields-comment-section"].contains(name);
        assert_eq!(has_content(content), !commented, "{name}");
    }
}

#[test]
fn the_order_of_the_names_decides_which_is_reported() {
    let names = ["REMAINING", "DONE"].map(str::to_owned);
    let content = "DONE: a\nREMAINING: b\n";
    assert_eq!(field_with_content(content, &names), Some("REMAINING"));
    assert_eq!(field_with_content(content, &[]), None);
}

#[test]
fn content_is_more_than_white_space_and_comments() {
    for nothing in [
        "",
        " \n\t\r\n",
        "<!-- x -->",
        "<!-- x\n\ny -->\n",
        "<!-- open",
        "<!-->",
        "\u{a0}",
    ] {
        assert!(!has_content(nothing), "{nothing:?}");
    }
    for something in [
        "x",
        "```\n```",
        "<!-- x --> y",
        "x <!-- open",
        "<br>",
        "`<!-- x -->`",
        "---",
        "🍊",
    ] {
        assert!(has_content(something), "{something:?}");
    }
}
