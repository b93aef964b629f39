//! Which verdict the corpus reviews give, strict and scanned.

use orange_engine::document::reading::VerdictReading::{Absent, Both, Found, Unreadable};
use orange_engine::document::reading::{Verdict, VerdictMode, VerdictReading, verdict};

use crate::{Row, corpus, parse, section};

/// A verdict, without the line it quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Pass,
    Fail,
    Absent,
    Both,
    Unreadable,
}

impl Kind {
    fn of(reading: &VerdictReading) -> Kind {
        match reading {
            Found(Verdict::Pass) => Kind::Pass,
            Found(Verdict::Fail) => Kind::Fail,
            Absent => Kind::Absent,
            Both { .. } => Kind::Both,
            Unreadable { .. } => Kind::Unreadable,
        }
    }
}

/// A file, its bytes, and the verdict by its first line and by scanning.
pub(crate) const TABLE: &[Row<(Kind, Kind)>] = corpus! {
    "verdict-pass" => (Kind::Pass, Kind::Pass),
    "verdict-fail" => (Kind::Fail, Kind::Fail),
    "verdict-bold" => (Kind::Pass, Kind::Pass),
    "verdict-bold-label" => (Kind::Pass, Kind::Pass),
    "verdict-bold-word" => (Kind::Fail, Kind::Fail),
    "verdict-bold-both" => (Kind::Pass, Kind::Pass),
    "verdict-underscores" => (Kind::Pass, Kind::Pass),
    "verdict-code" => (Kind::Pass, Kind::Pass),
    "verdict-lower-case" => (Kind::Pass, Kind::Pass),
    "verdict-mixed-case" => (Kind::Fail, Kind::Fail),
    "verdict-spaces" => (Kind::Pass, Kind::Pass),
    "verdict-no-space" => (Kind::Pass, Kind::Pass),
    "verdict-crlf" => (Kind::Pass, Kind::Pass),
    "verdict-end-of-file" => (Kind::Fail, Kind::Fail),
    "verdict-both" => (Kind::Both, Kind::Both),
    "verdict-both-slash" => (Kind::Both, Kind::Both),
    "verdict-both-bold" => (Kind::Both, Kind::Both),
    "verdict-not-pass" => (Kind::Unreadable, Kind::Pass),
    "verdict-passed" => (Kind::Unreadable, Kind::Absent),
    "verdict-failure" => (Kind::Unreadable, Kind::Absent),
    "verdict-no-failures" => (Kind::Pass, Kind::Pass),
    "verdict-dash" => (Kind::Pass, Kind::Pass),
    "verdict-strike" => (Kind::Unreadable, Kind::Both),
    "verdict-emoji-first" => (Kind::Unreadable, Kind::Pass),
    "verdict-next-line" => (Kind::Unreadable, Kind::Pass),
    "verdict-prose-first" => (Kind::Unreadable, Kind::Pass),
    "verdict-heading-first" => (Kind::Unreadable, Kind::Pass),
    "verdict-list-marker" => (Kind::Unreadable, Kind::Pass),
    "verdict-quote-marker" => (Kind::Unreadable, Kind::Pass),
    "verdict-comment-first" => (Kind::Pass, Kind::Pass),
    "verdict-comment-lines-first" => (Kind::Pass, Kind::Pass),
    "verdict-comment-same-line" => (Kind::Pass, Kind::Pass),
    "verdict-comment-only" => (Kind::Absent, Kind::Absent),
    "verdict-comment-hides-other" => (Kind::Pass, Kind::Pass),
    "verdict-fence-first" => (Kind::Unreadable, Kind::Absent),
    "verdict-fence-info" => (Kind::Unreadable, Kind::Absent),
    "verdict-fence-later" => (Kind::Unreadable, Kind::Pass),
    "verdict-empty" => (Kind::Absent, Kind::Absent),
    "verdict-none" => (Kind::Unreadable, Kind::Absent),
    "verdict-identifier" => (Kind::Unreadable, Kind::Absent),
    "verdict-emoji-cut" => (Kind::Unreadable, Kind::Absent),
    "verdict-emoji-cut-both" => (Kind::Both, Kind::Both),
    "verdict-combining" => (Kind::Unreadable, Kind::Absent),
    "verdict-label-in-word" => (Kind::Unreadable, Kind::Pass),
    "verdict-other-label" => (Kind::Unreadable, Kind::Pass),
    "verdict-round-two" => (Kind::Pass, Kind::Pass),
    "verdict-nested-heading" => (Kind::Pass, Kind::Pass),
};

fn reading(expected: &str, mode: VerdictMode) -> VerdictReading {
    let (name, bytes, _) = TABLE.iter().find(|(name, ..)| *name == expected).unwrap();
    let document = parse(name, bytes);
    verdict(document.content(section(&document, "Review")), mode)
}

#[test]
fn every_review_has_its_verdict() {
    for (name, _, expected) in TABLE {
        let first_line = Kind::of(&reading(name, VerdictMode::FirstLine));
        let scanned = Kind::of(&reading(name, VerdictMode::Scan));
        assert_eq!((first_line, scanned), *expected, "{name}");
    }
}

#[test]
fn an_unreadable_verdict_is_quoted_verbatim() {
    let quoted = |name| match reading(name, VerdictMode::FirstLine) {
        Both { line } | Unreadable { line } => line,
        found => unreachable!("{found:?}"),
    };
    assert_eq!(
        quoted("verdict-both-bold"),
        "**Verdict: FAIL** (would PASS with tests)"
    );
    assert_eq!(quoted("verdict-next-line"), "Verdict:");
    assert_eq!(quoted("verdict-fence-first"), "```");
    assert_eq!(quoted("verdict-emoji-cut"), format!("{}🍊", "x".repeat(79)));
}

#[test]
fn verdicts_and_modes_have_stable_names() {
    assert_eq!(Verdict::Pass.to_string(), "PASS");
    assert_eq!(serde_json::to_string(&Verdict::Fail).unwrap(), "\"FAIL\"");
    assert_eq!(
        serde_json::from_str::<Verdict>("\"PASS\"").unwrap(),
        Verdict::Pass
    );
    assert_eq!(VerdictMode::default(), VerdictMode::FirstLine);
    assert_eq!(
        serde_json::to_string(&VerdictMode::FirstLine).unwrap(),
        "\"first_line\""
    );
    assert_eq!(
        serde_json::from_str::<VerdictMode>("\"scan\"").unwrap(),
        VerdictMode::Scan
    );
}
