//! Finds the top-level headings and sections of a document.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::lines::{LINE_BREAKS, line_end, line_start, lines};
use super::section_hash::SectionHash;
use super::section_name::{SectionName, collapse_whitespace};

/// A top-level level-2 heading with everything up to the next heading of level 1 or 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    name: SectionName,
    heading: Range<usize>,
    content: Range<usize>,
    line: usize,
    hash: SectionHash,
}

impl Section {
    pub fn name(&self) -> &SectionName {
        &self.name
    }

    /// Where the heading's whole lines are in the document's text.
    pub fn heading(&self) -> Range<usize> {
        self.heading.clone()
    }

    /// Where its content is in the document's text.
    pub fn content(&self) -> Range<usize> {
        self.content.clone()
    }

    /// The heading's line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    pub fn hash(&self) -> SectionHash {
        self.hash
    }
}

/// A heading that no list, quote, fence or HTML block contains.
pub(crate) struct Heading {
    pub(crate) level: u8,
    /// The plain text, white space collapsed.
    pub(crate) title: String,
    /// Whole lines, including the last line break.
    pub(crate) range: Range<usize>,
    /// Whether it is written with `#` on one line rather than with an underline.
    pub(crate) has_hashes: bool,
}

/// Every top-level heading of a Markdown text, in order.
pub(crate) fn headings(markdown: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(markdown, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, tag) {
                    headings.push(heading(markdown, level as u8, range));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    headings
}

fn heading(markdown: &str, level: u8, range: Range<usize>) -> Heading {
    let source = markdown[range.clone()].trim_end();
    let has_hashes = !source.contains(LINE_BREAKS);
    let mut title = plain_text(source);
    // If a tab precedes the closing `#` characters, the parser leaves them in the title.
    if has_hashes && source.trim_end_matches('#').ends_with('\t') {
        title.truncate(title.trim_end_matches('#').len());
    }
    let last_line = line_end(markdown, range.start + source.len());
    let ending = lines(&markdown[last_line..]).next();
    let end = last_line + ending.map_or(0, |(_, ending)| ending.len());
    Heading {
        level,
        title: collapse_whitespace(&title),
        range: line_start(markdown, range.start)..end,
        has_hashes,
    }
}

/// The text of a heading without its marks.
///
/// It is parsed on its own, because a link definition elsewhere, for example in injected text,
/// would turn `## [Plan]` into a section named `Plan`.
fn plain_text(heading: &str) -> String {
    let mut plain = String::new();
    for event in Parser::new_ext(heading, Options::empty()) {
        match event {
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::SoftBreak | Event::HardBreak => plain.push(' '),
            _ => {}
        }
    }
    plain
}

/// The sections of the body that starts at `start`, in order.
///
/// A heading without text ends the previous section but starts none.
pub(super) fn sections(text: &str, start: usize) -> Vec<Section> {
    let body = &text[start..];
    let mut headings = headings(body)
        .into_iter()
        .filter(|heading| heading.level <= 2)
        .peekable();
    let mut sections = Vec::new();
    let mut line = lines(&text[..start]).count() + 1;
    let mut counted = 0;
    while let Some(heading) = headings.next() {
        line += lines(&body[counted..heading.range.start]).count();
        counted = heading.range.start;
        let end = headings.peek().map_or(body.len(), |next| next.range.start);
        if heading.level == 2 && !heading.title.is_empty() {
            sections.push(Section {
                name: SectionName::from_title(&heading.title),
                heading: start + heading.range.start..start + heading.range.end,
                content: start + heading.range.end..start + end,
                line,
                hash: SectionHash::of(&body[heading.range.end..end]),
            });
        }
    }
    sections
}
