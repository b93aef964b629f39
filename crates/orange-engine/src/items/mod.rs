//! Reads a Markdown file of which each item becomes a task.
//!
//! A file with `## ` headings has one item per section: the heading is the summary, and the text
//! below it the context. In any other file, each entry of a list is an item: its first paragraph
//! is the summary, and what is indented below it the context. The rest of the file is left out.

mod list;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::document::{Heading, headings, line_number};

/// The longest summary of an item, in characters.
const MAX_SUMMARY: usize = 500;

/// The items of a file, and why it cannot be used, if so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemFile {
    pub items: Vec<Item>,
    /// The entries that are checked off, `- [x]`; no task is made of them.
    pub checked: Vec<Item>,
    pub problems: Vec<ItemProblem>,
}

/// One item: a task to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The line where it begins, from 1.
    pub line: usize,
    pub summary: String,
    pub context: Option<String>,
}

/// What is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemProblem {
    pub line: usize,
    pub message: String,
}

impl ItemFile {
    /// Reads a file; its problems are ordered by line.
    pub fn read(text: &str) -> ItemFile {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let headings = headings(text);
        let mut file = ItemFile::default();
        if headings.iter().any(is_section) {
            file.read_sections(text, &headings);
        } else {
            file.read_list(text);
        }
        file.find_duplicates();
        file.problems.sort_by_key(|it| it.line);
        file
    }

    fn read_sections(&mut self, text: &str, headings: &[Heading]) {
        let mut rest = headings.iter().filter(|it| it.level <= 2).peekable();
        while let Some(heading) = rest.next() {
            let end = rest.peek().map_or(text.len(), |next| next.range.start);
            if is_section(heading) {
                let summary = heading_text(&text[heading.range.clone()]);
                let context = &text[heading.range.end..end];
                self.add(text, &(heading.range.start..end), summary, context);
            }
        }
    }

    /// Adds an item that occupies this range of the text, or says what is wrong with it.
    fn add(&mut self, text: &str, range: &Range<usize>, summary: String, context: &str) {
        let line = line_number(text, range.start);
        let source = &text[range.clone()];
        if let Some((offset, found)) = source.char_indices().find(|(_, it)| is_unusable(*it)) {
            let message = format!("it contains the control character U+{:04X}", found as u32);
            self.problem(line_number(text, range.start + offset), message);
        }
        let length = summary.chars().count();
        if summary.is_empty() {
            self.problem(line, String::from("it has no summary"));
        } else if length > MAX_SUMMARY {
            let message = format!(
                "its summary has {length} characters, more than {MAX_SUMMARY}; put details below it"
            );
            self.problem(line, message);
        }
        let context = context.trim_end().trim_start_matches(['\n', '\r']);
        self.items.push(Item {
            line,
            summary,
            context: (!context.trim().is_empty()).then(|| context.to_owned()),
        });
    }

    fn problem(&mut self, line: usize, message: String) {
        self.problems.push(ItemProblem { line, message });
    }

    fn find_duplicates(&mut self) {
        let mut first_lines: BTreeMap<&str, usize> = BTreeMap::new();
        let mut problems = Vec::new();
        for item in self.items.iter().filter(|it| !it.summary.is_empty()) {
            let first = *first_lines.entry(&item.summary).or_insert(item.line);
            if first != item.line {
                let message = format!("it has the same summary as line {first}");
                problems.push(ItemProblem {
                    line: item.line,
                    message,
                });
            }
        }
        self.problems.extend(problems);
    }
}

fn is_section(heading: &Heading) -> bool {
    heading.level == 2 && heading.has_hashes
}

/// The text of a heading between its `#` characters, as it is written.
fn heading_text(heading: &str) -> String {
    let text = heading.trim().trim_start_matches('#').trim();
    let closed = text.trim_end_matches('#');
    let is_closing = closed.is_empty() || closed.ends_with([' ', '\t']);
    let text = if is_closing { closed.trim_end() } else { text };
    text.to_owned()
}

/// A character that no summary and no context needs, and that a terminal may act on.
fn is_unusable(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}

#[cfg(test)]
mod tests;
