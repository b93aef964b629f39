//! Sections of fenced text that share a limited room.

use std::fmt::Write as _;

use crate::forge::text::fence;

/// A part of the file.
pub(super) struct Section {
    pub title: &'static str,
    /// Who wrote it, or what it is for.
    pub introduction: String,
    /// When the room is too small for everything, a lower rank gets its part first.
    pub rank: u8,
    pub items: Vec<Item>,
}

/// A text in a section.
pub(super) struct Item {
    /// Empty for the only text of a section.
    pub heading: String,
    pub text: String,
    /// The language of the fence.
    pub language: &'static str,
    /// The most bytes of the item, with its heading and fence.
    pub limit: usize,
    /// Where to find what is cut; may be empty.
    pub rest: String,
}

/// A longer text of which less than this fits is left out.
const MIN_KEPT: usize = 200;

/// Room that is kept for the sentence that names what is left out.
const CLOSING_ROOM: usize = 256;

/// The sections below each other, in at most `limit` bytes. A section for which no room is left is
/// named at the end.
pub(super) fn lay_out(head: String, sections: &[Section], limit: usize) -> String {
    let mut room = limit.saturating_sub(head.len() + CLOSING_ROOM);
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|index| sections[*index].rank);
    let mut texts: Vec<Option<String>> = vec![None; sections.len()];
    for index in order {
        let text = write(&sections[index], room);
        room -= text.as_ref().map_or(0, String::len);
        texts[index] = text;
    }
    let mut file = head;
    let mut left_out: Vec<&str> = Vec::new();
    for (section, text) in sections.iter().zip(texts) {
        match text {
            Some(text) => file.push_str(&text),
            None => left_out.push(section.title),
        }
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        let _never_fails = write!(file, "Left out, because the file is full: {names}.");
    }
    file.truncate(file.trim_end().len());
    file.push('\n');
    file
}

/// A section in at most `room` bytes; `None` if not even a part of its first item fits.
fn write(section: &Section, room: usize) -> Option<String> {
    let mut text = format!("## {}\n\n", section.title);
    if !section.introduction.is_empty() {
        let _never_fails = write!(text, "{}\n\n", section.introduction);
    }
    let mut is_empty = true;
    for item in &section.items {
        let room = room.saturating_sub(text.len()).min(item.limit);
        if let Some(item) = item.fit(room) {
            is_empty = false;
            text.push_str(&item);
        }
    }
    (!is_empty).then_some(text)
}

impl Item {
    /// The item in at most `room` bytes; `None` if nothing of it fits.
    fn fit(&self, room: usize) -> Option<String> {
        let mut kept = self.text.len().min(room);
        loop {
            let end = self.text.floor_char_boundary(kept);
            let text = self.render(end);
            if text.len() <= room {
                return Some(text);
            }
            // A fence is longer than every run of backticks in the text, so it shrinks with it.
            let excess = text.len() - room;
            kept = end.saturating_sub(excess.max(end / 8));
            if kept < MIN_KEPT {
                return None;
            }
        }
    }

    /// The item with the first `end` bytes of its text.
    fn render(&self, end: usize) -> String {
        let mut text = String::new();
        if !self.heading.is_empty() {
            let _never_fails = write!(text, "### {}\n\n", self.heading);
        }
        text.push_str(&fence(&self.text[..end], self.language));
        let all = self.text.len();
        if end < all {
            let mut note = format!("\nCut: these are the first {end} of {all} bytes.");
            if !self.rest.is_empty() {
                note.push(' ');
                note.push_str(&self.rest);
            }
            text.push_str(&note);
            text.push('\n');
        }
        text.push('\n');
        text
    }
}
