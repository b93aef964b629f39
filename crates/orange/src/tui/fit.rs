//! Cuts or folds texts to a number of columns.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::output::{display_width, escape_controls, truncate};

const FIRST_STRONG_ISOLATE: char = '\u{2068}';
const POP_ISOLATE: char = '\u{2069}';

/// Cuts the text to a width, and replaces characters that would act on the terminal.
pub fn cut(text: &str, width: usize) -> String {
    let shown = escape_controls(text);
    if display_width(&shown) <= width {
        return shown.into_owned();
    }
    match width {
        0 => String::new(),
        _ => truncate(&shown, width),
    }
}

/// Writes a text into one line of a buffer, cut to a width; returns how many columns it took.
///
/// Right-to-left text is isolated from its neighbours.
pub fn put(buffer: &mut Buffer, (x, y): (u16, u16), width: u16, text: &str, style: Style) -> u16 {
    let area = buffer.area;
    if x >= area.right() || y >= area.bottom() || y < area.top() {
        return 0;
    }
    let width = width.min(area.right() - x);
    let text = cut(text, width.into());
    let is_isolated = text.starts_with(FIRST_STRONG_ISOLATE);
    let plain = text.trim_matches([FIRST_STRONG_ISOLATE, POP_ISOLATE]);
    let (end, _) = buffer.set_stringn(x, y, plain, width.into(), style);
    if is_isolated && end > x {
        // A terminal keeps a zero-width character with the cell before it, so write the isolate
        // there.
        if x > area.left() {
            let before = format!("{}{FIRST_STRONG_ISOLATE}", buffer[(x - 1, y)].symbol());
            buffer[(x - 1, y)].set_symbol(&before);
        }
        // The symbol of a wide character is in the first of its cells.
        let last = plain
            .chars()
            .last()
            .map_or(1, |it| display_width(it.encode_utf8(&mut [0; 4])));
        let last_x = end - u16::try_from(last).unwrap_or(1).clamp(1, end - x);
        let last = format!("{}{POP_ISOLATE}", buffer[(last_x, y)].symbol());
        buffer[(last_x, y)].set_symbol(&last);
    }
    end - x
}

/// Folds the text into lines of at most this width; a longer word is broken.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let indent = paragraph.len() - paragraph.trim_start().len();
        let indent = " ".repeat(indent.min(width / 2));
        let mut line = indent.clone();
        for word in paragraph.split_whitespace() {
            let mut word = word;
            let has_words = line.len() > indent.len();
            if has_words && display_width(&line) + 1 + display_width(word) > width {
                lines.push(std::mem::replace(&mut line, indent.clone()));
            } else if has_words {
                line.push(' ');
            }
            while display_width(&line) + display_width(word) > width
                && word.chars().nth(1).is_some()
            {
                let room = width.saturating_sub(display_width(&line)).max(1);
                let end = break_at(word, room);
                line.push_str(&word[..end]);
                lines.push(std::mem::replace(&mut line, indent.clone()));
                word = &word[end..];
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Breaks a text of several lines like [`wrap`], and replaces characters that would act on the
/// terminal.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let lines = text.split('\n');
    let lines = lines.map(|line| escape_controls(&line.replace('\t', "    ")).into_owned());
    let parts = |line: String| wrap(&line, width).into_iter().map(str::to_owned).collect();
    lines
        .flat_map(|line| -> Vec<String> { parts(line) })
        .collect()
}

/// How many bytes of a word fit; at least its first character.
fn break_at(word: &str, room: usize) -> usize {
    let mut end = 0;
    for (at, character) in word.char_indices() {
        let next = at + character.len_utf8();
        if end > 0 && display_width(&word[..next]) > room {
            break;
        }
        end = next;
    }
    end
}

/// How many bytes of a text fit into a width; at least its first character. A character without
/// width stays with the character before it.
fn fitting_bytes(text: &str, width: usize) -> usize {
    let mut used_width = 0;
    for (at, character) in text.char_indices() {
        used_width += display_width(character.encode_utf8(&mut [0; 4]));
        if at > 0 && used_width > width {
            return at;
        }
    }
    text.len()
}

/// Breaks a text into parts of at most this width, even in the middle of a word.
pub fn wrap(text: &str, width: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, later) = rest.split_at(fitting_bytes(rest, width.max(1)));
        parts.push(part);
        if later.is_empty() {
            return parts;
        }
        rest = later;
    }
}

/// How many parts [`wrap`] makes.
pub fn wrapped_height(text: &str, width: usize) -> usize {
    if text.is_ascii() {
        return text.len().div_ceil(width.max(1)).max(1);
    }
    wrap(text, width).len()
}

/// The text from a column on; a character that crosses the column is left out.
pub fn from_column(text: &str, column: usize) -> &str {
    let mut used_width = 0;
    for (at, character) in text.char_indices() {
        let width = display_width(character.encode_utf8(&mut [0; 4]));
        if used_width >= column && width > 0 {
            return &text[at..];
        }
        used_width += width;
    }
    ""
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn a_text_is_cut_at_its_columns() {
        assert_eq!(cut("short", 8), "short");
        assert_eq!(cut("a longer text", 8), "a longe…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("a\u{1b}[2J", 9), "a\u{fffd}[2J");
        assert_eq!(cut("anything", 0), "");
    }

    #[test]
    fn lines_are_folded_and_long_words_broken() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold("  - one two", 8), ["  - one", "  two"]);
        assert_eq!(fold("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(fold("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(fold("漢", 1), ["漢"]);
        assert_eq!(fold("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(fold("", 4), Vec::<String>::new());
    }

    #[test]
    fn code_is_wrapped_at_columns() {
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("ab cd ef", 4), ["ab c", "d ef"]);
        assert_eq!(wrap("a漢字b", 3), ["a漢", "字b"]);
        assert_eq!(wrap("漢字", 1), ["漢", "字"]);
        assert_eq!(wrap("e\u{301}e\u{301}", 1), ["e\u{301}", "e\u{301}"]);
        for text in ["", "abcd", "abcde", "a漢字b"] {
            assert_eq!(wrapped_height(text, 4), wrap(text, 4).len(), "{text}");
        }
    }

    #[test]
    fn a_text_begins_at_a_column() {
        assert_eq!(from_column("abc", 0), "abc");
        assert_eq!(from_column("abc", 2), "c");
        assert_eq!(from_column("abc", 3), "");
        assert_eq!(from_column("漢字", 1), "字");
        assert_eq!(from_column("e\u{301}f", 1), "f");
    }

    #[test]
    fn wrapping_keeps_every_character() {
        assert_eq!(wrap_text("rm   -rf  x", 5), ["rm   ", "-rf  ", "x"]);
        assert_eq!(wrap_text("a\n\n b\tc", 8), ["a", "", " b    c"]);
        assert_eq!(wrap_text("漢字漢", 4), ["漢字", "漢"]);
        assert_eq!(wrap_text("a\u{1b}[2J", 9), ["a\u{fffd}[2J"]);
        assert_eq!(wrap_text("", 4), [""]);
    }

    #[test]
    fn text_from_right_to_left_stays_in_its_cells() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
        let used_width = put(&mut buffer, (1, 0), 5, "שלום", Style::new());
        assert_eq!(used_width, 4);
        assert_eq!(buffer[(0, 0)].symbol(), " \u{2068}");
        assert_eq!(buffer[(1, 0)].symbol(), "ש");
        assert_eq!(buffer[(4, 0)].symbol(), "ם\u{2069}");
        assert_eq!(put(&mut buffer, (20, 0), 5, "x", Style::new()), 0);
        assert_eq!(put(&mut buffer, (8, 0), 5, "漢字", Style::new()), 1);
    }
}
