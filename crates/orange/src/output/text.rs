//! Text for the terminal: safe, styled and folded.
//!
//! Text from files or the command line may contain escape sequences. `push` replaces control
//! characters, so that only this folder moves the cursor, and characters that change the text
//! direction, so that a command is shown in its real order.

use std::borrow::Cow;

use super::Style;
use super::fold::{Room, Word, fold, words};

/// Characters around a part that has its own text direction. They are invisible, even on a terminal
/// that does not support them.
pub(super) const FIRST_STRONG_ISOLATE: char = '\u{2068}';
pub(super) const POP_ISOLATE: char = '\u{2069}';

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    pub fn line(style: Style, text: &str) -> Self {
        let mut line = Self::new();
        line.push(style, text);
        line.end_line();
        line
    }

    pub fn new() -> Self {
        Self::default()
    }

    /// Text that a trusted renderer has already styled.
    pub fn styled(rendered: String) -> Self {
        Self(rendered)
    }

    /// Adds text to the line; control characters, including line ends, are shown as `�`.
    pub fn push(&mut self, style: Style, text: &str) {
        self.0.push_str(&style.paint(&escape_controls(text)));
    }

    pub fn end_line(&mut self) {
        self.0.push('\n');
    }

    /// Adds a paragraph and a line end, folded to `width` if there is one.
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

    /// Adds words to the current line, and to as many more lines as they need.
    pub(super) fn push_folded<'a>(&mut self, words: impl Iterator<Item = Word<'a>>, room: Room) {
        for (number, line) in fold(words, room).into_iter().enumerate() {
            if number > 0 {
                self.end_line();
                self.push(Style::Plain, &" ".repeat(room.later));
            }
            // Text of one style is pushed as a whole: otherwise a right-to-left sentence would not
            // read in order.
            for (number, group) in line.chunk_by(|one, other| one.0 == other.0).enumerate() {
                self.push(Style::Plain, if number > 0 { " " } else { "" });
                let words: Vec<&str> = group.iter().map(|(_, word)| *word).collect();
                let style = group.first().map_or(Style::Plain, |(style, _)| *style);
                self.push(style, &words.join(" "));
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
    pub lead: &'a [(Style, &'a str)],
    pub body: &'a str,
    pub margin: usize,
    pub indent: usize,
}

/// Replaces every character that would move the cursor or change the text direction; isolates
/// right-to-left text from its neighbours.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| character.is_control() || is_direction(character);
    let is_unchanged = |character: char| !is_unsafe(character) && !is_right_to_left(character);
    // Copy nothing if nothing changes: that is the usual case, and a list has tens of thousands of
    // texts.
    if is_plain(text) || text.chars().all(is_unchanged) {
        return Cow::Borrowed(text);
    }
    let replace = |character: char| {
        if is_unsafe(character) {
            '\u{fffd}'
        } else {
            character
        }
    };
    let mut shown: String = text.chars().map(replace).collect();
    if shown.chars().any(is_right_to_left) {
        shown.insert(0, FIRST_STRONG_ISOLATE);
        shown.push(POP_ISOLATE);
    }
    Cow::Owned(shown)
}

/// Whether every character is printable ASCII. The loop has no early exit, so that the compiler can
/// check many bytes at once.
pub(super) fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.wrapping_sub(b' ') < 0x7f - b' ';
    text.bytes()
        .fold(true, |so_far, byte| so_far & is_plain(byte))
}

/// Whether a character only changes the direction of the text after it.
pub(super) fn is_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a letter belongs to a right-to-left script: Hebrew, Arabic and related ones.
fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
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
    fn right_to_left_text_does_not_affect_its_neighbours() {
        let mut text = Text::new();
        text.push(Style::Plain, "a\u{202e}b\u{2066}");
        text.push(Style::Plain, "שלום");
        assert_eq!(text.as_str(), "a\u{fffd}b\u{fffd}\u{2068}שלום\u{2069}");
    }

    #[test]
    fn a_paragraph_is_folded_with_its_indentation() {
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
