//! A text that is being typed.

/// A text with a cursor in it: a byte offset that never splits a character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    cursor: usize,
}

impl Field {
    /// A text with the cursor at its end.
    pub fn of(text: impl Into<String>) -> Field {
        let text = text.into();
        let cursor = text.len();
        Field { text, cursor }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The line and the column of the cursor; the column counts the width of the text before it.
    pub fn cursor_position(&self) -> (usize, usize) {
        let before = &self.text[..self.cursor];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, crate::output::display_width(&before[start..]))
    }

    /// Types a text, without characters that would move the cursor.
    pub fn insert(&mut self, text: &str, is_multiline: bool) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_kept = |it: &char| (*it == '\n' && is_multiline) || *it == '\t' || !it.is_control();
        let blank = |it: char| if it == '\t' { ' ' } else { it };
        let line_end = |it: char| if it == '\n' && !is_multiline { ' ' } else { it };
        let typed = text.chars().map(line_end).filter(is_kept).map(blank);
        let typed: String = typed.collect();
        self.text.insert_str(self.cursor, &typed);
        self.cursor += typed.len();
    }

    pub fn backspace(&mut self) {
        if let Some(before) = self.text[..self.cursor].chars().next_back() {
            self.cursor -= before.len_utf8();
            self.text.remove(self.cursor);
        }
    }

    pub fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    pub fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    /// Deletes from the start of the line to the cursor.
    pub fn delete_line(&mut self) {
        let start = self.line_start();
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub fn left(&mut self) {
        if let Some(before) = self.text[..self.cursor].chars().next_back() {
            self.cursor -= before.len_utf8();
        }
    }

    pub fn right(&mut self) {
        if let Some(after) = self.text[self.cursor..].chars().next() {
            self.cursor += after.len_utf8();
        }
    }

    pub fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub fn end(&mut self) {
        let rest = &self.text[self.cursor..];
        self.cursor += rest.find('\n').unwrap_or(rest.len());
    }

    /// Moves one line up; returns whether there was one.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].chars().count();
        self.cursor = start - 1;
        self.cursor = self.line_start();
        self.advance(column);
        true
    }

    /// Moves one line down; returns whether there was one.
    pub fn down(&mut self) -> bool {
        let start = self.line_start();
        let Some(end) = self.text[self.cursor..].find('\n') else {
            return false;
        };
        let column = self.text[start..self.cursor].chars().count();
        self.cursor += end + 1;
        self.advance(column);
        true
    }

    fn advance(&mut self, columns: usize) {
        for _ in 0..columns {
            match self.text[self.cursor..].chars().next() {
                Some(after) if after != '\n' => self.cursor += after.len_utf8(),
                _ => break,
            }
        }
    }

    fn line_start(&self) -> usize {
        let before = &self.text[..self.cursor];
        before.rfind('\n').map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_of_any_width_is_kept() {
        let mut field = Field::default();
        field.insert("aé漢🦀", true);
        field.left();
        field.left();
        field.backspace();
        assert_eq!(field.text(), "a漢🦀");
        assert_eq!(field.cursor_position(), (0, 1));
        field.delete();
        assert_eq!(field.text(), "a🦀");
        field.end();
        field.insert(" two words", true);
        field.delete_word();
        assert_eq!(field.text(), "a🦀 two ");
        field.delete_line();
        assert_eq!(field.text(), "");
        field.backspace();
        field.delete();
        field.left();
        field.right();
        assert_eq!(field, Field::default());
    }

    #[test]
    fn line_breaks_are_kept_in_multi_line_fields() {
        let mut field = Field::default();
        field.insert("one\r\ntwo\u{1b}[2J", true);
        assert_eq!(field.text(), "one\ntwo[2J");
        let mut field = Field::default();
        field.insert("one\ntwo", false);
        assert_eq!(field.text(), "one two");
    }

    #[test]
    fn the_cursor_moves_between_lines() {
        let mut field = Field::of("first\nab\nthird");
        assert_eq!(field.cursor_position(), (2, 5));
        assert!(field.up());
        assert_eq!(field.cursor_position(), (1, 2));
        assert!(field.up());
        assert!(!field.up());
        assert!(field.down());
        field.home();
        assert_eq!(field.cursor_position(), (1, 0));
        assert!(field.down());
        assert!(!field.down());
    }
}
