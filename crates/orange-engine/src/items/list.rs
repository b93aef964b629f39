//! The entries of the lists of a Markdown file.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{Item, ItemFile};
use crate::document::line_number;

impl ItemFile {
    pub(super) fn read_list(&mut self, text: &str) {
        for range in entries(text) {
            let Some((width, content)) = split_marker(&text[range.clone()]) else {
                continue;
            };
            let (is_checked, first) = split_box(content);
            let entry = without_indent(first, width);
            let summary = first_paragraph(&entry);
            let context = entry[summary.end..].to_owned();
            let words: Vec<&str> = entry[summary].split_whitespace().collect();
            if is_checked {
                self.checked.push(Item {
                    line: line_number(text, range.start),
                    summary: words.join(" "),
                    context: None,
                });
                continue;
            }
            self.find_stray_lines(text, &range);
            self.add(text, &range, words.join(" "), &context);
        }
    }

    /// Markdown counts a line directly below an entry as a part of it even if it is not indented.
    /// It may as well be an entry without its marker.
    fn find_stray_lines(&mut self, text: &str, range: &Range<usize>) {
        let entry = &text[range.clone()];
        let indent = |line: &str| line.len() - line.trim_start().len();
        let first = line_number(text, range.start);
        for (number, line) in entry.lines().enumerate().skip(1) {
            if !line.trim().is_empty() && indent(line) == 0 {
                let message = "it is neither an item nor indented below one";
                self.problem(first + number, String::from(message));
            }
        }
    }
}

/// The ranges of the entries of all lists that nothing else contains.
fn entries(text: &str) -> Vec<Range<usize>> {
    let mut entries = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (1, Tag::Item) = (depth, tag) {
                    entries.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    entries
}

/// The width of an entry's marker with the space behind it, and the text after it.
fn split_marker(entry: &str) -> Option<(usize, &str)> {
    let digits = entry.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &entry[digits..];
    let markers: &[char] = if digits == 0 {
        &['-', '*', '+']
    } else {
        &['.', ')']
    };
    let content = rest.strip_prefix(markers)?;
    let text = content.trim_start_matches([' ', '\t']);
    let gap = (content.len() - text.len()).clamp(1, 4);
    Some((digits + 1 + gap, text))
}

/// Whether an entry is checked off, and its text without the box.
fn split_box(content: &str) -> (bool, &str) {
    for (mark, is_checked) in [("[ ]", false), ("[x]", true), ("[X]", true)] {
        if let Some(rest) = content.strip_prefix(mark)
            && (rest.is_empty() || rest.starts_with(char::is_whitespace))
        {
            return (is_checked, rest.trim_start_matches([' ', '\t']));
        }
    }
    (false, content)
}

/// The entry with its later lines moved to the left, as if it had no marker.
fn without_indent(entry: &str, width: usize) -> String {
    let mut lines = entry.split_inclusive('\n');
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let spaces = line.bytes().take_while(|it| *it == b' ').count();
        let indented = &line[spaces.min(width)..];
        let is_tabbed = spaces < width;
        let tab = indented.strip_prefix('\t').filter(|_| is_tabbed);
        text.push_str(tab.unwrap_or(indented));
    }
    text
}

/// Where the paragraph is that the text begins with; empty if it begins with something else.
fn first_paragraph(text: &str) -> Range<usize> {
    let mut events = Parser::new_ext(text, Options::empty()).into_offset_iter();
    match events.next() {
        Some((Event::Start(Tag::Paragraph), range)) => range,
        _ => 0..0,
    }
}
