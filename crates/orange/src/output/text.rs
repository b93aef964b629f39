//! Text on its way to a person.
//!
//! What comes from a file or the command line may hold escape sequences. Everything that is
//! pushed has its control characters replaced, so only this folder moves the cursor.

use super::Style;
use super::fold::{Room, Word, fold, words};

/// Styled text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// No text yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text that a trusted renderer has styled already.
    pub fn styled(rendered: String) -> Self {
        Self(rendered)
    }

    /// Adds text to the line; control characters, line ends among them, are shown as `�`.
    pub fn push(&mut self, style: Style, text: &str) {
        self.0.push_str(&style.paint(&visible(text)));
    }

    /// Adds a line end.
    pub fn end_line(&mut self) {
        self.0.push('\n');
    }

    /// Adds a paragraph and a line end, folded to `width` when there is one.
    pub fn push_paragraph(&mut self, paragraph: &Paragraph, width: Option<usize>) {
        let body = words(paragraph.body).map(|word| (Style::Plain, word));
        let words = paragraph.lead.iter().copied().chain(body);
        self.push(Style::Plain, &" ".repeat(paragraph.margin));
        let room = Room {
            first: paragraph.margin,
            later: paragraph.indent,
            end: width,
        };
        self.push_folded(words, room);
        self.end_line();
    }

    /// Adds words to the line that has been begun, and to as many more as they need.
    pub(super) fn push_folded<'a>(&mut self, words: impl Iterator<Item = Word<'a>>, room: Room) {
        for (number, line) in fold(words, room).into_iter().enumerate() {
            if number > 0 {
                self.end_line();
                self.push(Style::Plain, &" ".repeat(room.later));
            }
            for (number, (style, word)) in line.into_iter().enumerate() {
                self.push(Style::Plain, if number > 0 { " " } else { "" });
                self.push(style, word);
            }
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A lead such as `hint:` and the words that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Paragraph<'a> {
    /// The words it starts with.
    pub lead: &'a [(Style, &'a str)],
    /// The other words.
    pub body: &'a str,
    /// How far the first line is indented.
    pub margin: usize,
    /// How far later lines are indented.
    pub indent: usize,
}

fn visible(text: &str) -> String {
    let shown = |character: char| {
        if character.is_control() {
            '\u{fffd}'
        } else {
            character
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let mut text = Text::new();
        text.push(Style::Plain, "a\u{1b}[2Jb\r\u{9b}c\nd");
        let shown = "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d";
        assert_eq!(text.as_str(), shown);
    }

    #[test]
    fn a_paragraph_is_folded_below_its_own_words() {
        let paragraph = Paragraph {
            lead: &[(Style::Plain, "hint:")],
            body: "run `orange workflow list`, then ask",
            margin: 1,
            indent: 4,
        };
        let mut folded = Text::new();
        folded.push_paragraph(&paragraph, Some(20));
        let mut whole = Text::new();
        whole.push_paragraph(&paragraph, None);
        assert_eq!(
            folded.as_str(),
            " hint: run\n    `orange workflow list`,\n    then ask\n"
        );
        assert_eq!(
            whole.as_str(),
            " hint: run `orange workflow list`, then ask\n"
        );
    }
}
