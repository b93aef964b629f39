//! What a gate can read in a section's content.

use std::fmt;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use serde::{Deserialize, Serialize};

use super::lines::{cut, lines};

/// How many characters of a line are quoted.
const QUOTED_CHARACTERS: usize = 80;

/// What a review concludes.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The work is accepted.
    Pass,
    /// The work needs changes.
    Fail,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// Where to look for a verdict.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum VerdictMode {
    /// Only in the first line that is not empty, as `Verdict: PASS`.
    #[default]
    FirstLine,
    /// Anywhere in the first line outside code blocks that has the word `PASS` or `FAIL`.
    Scan,
}

/// The result of looking for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictReading {
    /// Exactly one verdict.
    Found(Verdict),
    /// Nothing that could be a verdict.
    Absent,
    /// A line that names both verdicts.
    Both {
        /// The line, shortened.
        line: String,
    },
    /// A first line that is not a verdict line.
    Unreadable {
        /// The line, shortened.
        line: String,
    },
}

/// Whether there is anything but white space and HTML comments.
pub fn has_content(content: &str) -> bool {
    visible_lines(content)
        .iter()
        .any(|line| !line.text.trim().is_empty())
}

/// The lines that a reader of the rendered text sees, without HTML comments.
pub fn visible_text(content: &str) -> String {
    let lines = visible_lines(content);
    let lines: Vec<&str> = lines.iter().map(|line| line.text.trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The first name for which a line `NAME: something` exists.
pub fn field_with_content<'a>(content: &str, names: &'a [String]) -> Option<&'a str> {
    let lines = visible_lines(content);
    names
        .iter()
        .find(|name| field_states(&lines, name).any(|filled| filled))
        .map(String::as_str)
}

/// The names that have a line `NAME:`, but none with text after the colon.
pub fn empty_fields<'a>(content: &str, names: &'a [String]) -> Vec<&'a str> {
    let lines = visible_lines(content);
    let is_empty = |name: &&String| {
        let mut states = field_states(&lines, name).peekable();
        states.peek().is_some() && states.all(|filled| !filled)
    };
    names.iter().filter(is_empty).map(String::as_str).collect()
}

/// The verdict of a review's content.
pub fn verdict(content: &str, mode: VerdictMode) -> VerdictReading {
    let lines = visible_lines(content);
    match mode {
        VerdictMode::FirstLine => lines
            .iter()
            .find(|line| !line.text.trim().is_empty())
            .map_or(VerdictReading::Absent, first_line_verdict),
        VerdictMode::Scan => lines
            .iter()
            .filter(|line| !line.fenced)
            .find_map(|line| named_verdict(&line.text))
            .unwrap_or(VerdictReading::Absent),
    }
}

fn first_line_verdict(line: &Line) -> VerdictReading {
    let unreadable = || VerdictReading::Unreadable {
        line: quoted(&line.text),
    };
    // A line of a code block is not a verdict, even if it reads like one.
    if line.fenced {
        return unreadable();
    }
    let plain = without_marks(&line.text);
    let first_word = split_prefix(plain.trim_start(), "verdict")
        .and_then(|rest| rest.trim_start().strip_prefix(':'))
        .and_then(|rest| words(rest.trim_start()).next());
    match first_word.and_then(verdict_word) {
        Some(_) => named_verdict(&line.text).unwrap_or_else(unreadable),
        None => unreadable(),
    }
}

/// The verdict that a line names as a whole word, or the fact that it names both verdicts.
fn named_verdict(line: &str) -> Option<VerdictReading> {
    let plain = without_marks(line);
    let mut verdicts = words(&plain).filter_map(verdict_word);
    let first = verdicts.next()?;
    if verdicts.any(|other| other != first) {
        return Some(VerdictReading::Both { line: quoted(line) });
    }
    Some(VerdictReading::Found(first))
}

fn verdict_word(word: &str) -> Option<Verdict> {
    [Verdict::Pass, Verdict::Fail]
        .into_iter()
        .find(|verdict| word.eq_ignore_ascii_case(verdict.word()))
}

/// The pieces between punctuation and spaces; the first piece is empty if the text starts with
/// either.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric())
}

fn split_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn is_mark(character: char) -> bool {
    matches!(character, '*' | '_' | '`')
}

fn is_mark_or_space(character: char) -> bool {
    is_mark(character) || character.is_whitespace()
}

fn without_marks(text: &str) -> String {
    text.chars()
        .filter(|character| !is_mark(*character))
        .collect()
}

fn quoted(line: &str) -> String {
    cut(line.trim(), QUOTED_CHARACTERS)
}

/// For each line of this field, whether text follows the colon.
fn field_states<'a>(lines: &'a [Line], name: &'a str) -> impl Iterator<Item = bool> + 'a {
    lines
        .iter()
        .filter(|line| !line.fenced)
        .filter_map(move |line| {
            let rest = without_list_markers(&line.text)
                .trim_start_matches(is_mark_or_space)
                .strip_prefix(name)?
                .trim_start_matches(is_mark_or_space)
                .strip_prefix(':')?;
            Some(!rest.trim_start_matches(is_mark_or_space).is_empty())
        })
}

fn without_list_markers(line: &str) -> &str {
    let mut line = line.trim_start();
    loop {
        let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
        let rest = if digits.len() < line.len() {
            digits.strip_prefix(['.', ')'])
        } else {
            line.strip_prefix(['-', '*', '+'])
        };
        match rest {
            Some(rest) if rest.starts_with([' ', '\t']) => line = rest.trim_start(),
            _ => return line,
        }
    }
}

/// A line as it appears on the rendered page.
struct Line {
    text: String,
    /// Whether it is part of a fenced code block, including its fences.
    fenced: bool,
}

/// The lines without their HTML comments.
///
/// A section starts at the top level of its document, so its content reads the same on its own.
fn visible_lines(content: &str) -> Vec<Line> {
    let (fences, comments) = fences_and_comments(content);
    let mut fences = fences.into_iter().peekable();
    let mut comments = comments.into_iter().peekable();
    lines(content)
        .map(|(start, line)| {
            let end = start + line.len();
            while fences.next_if(|fence| fence.end <= start).is_some() {}
            let in_fence = fences.peek().is_some_and(|fence| fence.start < end);
            let mut text = String::with_capacity(line.len());
            let mut cursor = start;
            while let Some(comment) = comments.peek().filter(|comment| comment.start < end) {
                text.push_str(content.get(cursor..comment.start).unwrap_or_default());
                cursor = comment.end.clamp(cursor, end);
                if comment.end > end {
                    break;
                }
                comments.next();
            }
            text.push_str(&content[cursor..end]);
            Line {
                text,
                fenced: in_fence,
            }
        })
        .collect()
}

fn fences_and_comments(content: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let mut fences = Vec::new();
    let mut comments = Vec::new();
    for (event, range) in Parser::new_ext(content, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => fences.push(range),
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                comments.extend(comments_in(content, range));
            }
            _ => {}
        }
    }
    (fences, comments)
}

/// The comments in a piece of HTML; an unclosed one extends to the end.
fn comments_in(content: &str, html: Range<usize>) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut cursor = html.start;
    while let Some(at) = content[cursor..html.end].find("<!--") {
        let start = cursor + at;
        // `<!-->` is a whole comment, so the search for `-->` starts at its own dashes.
        let end = content[start + 2..html.end]
            .find("-->")
            .map_or(html.end, |length| start + 2 + length + "-->".len());
        comments.push(start..end);
        cursor = end;
    }
    comments
}
