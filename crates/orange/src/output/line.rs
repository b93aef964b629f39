//! One line of several styles, folded only if it does not fit.

use super::fold::display_width;
use super::text::escape_controls;
use super::{Style, Text};

/// Parts without white space between them, and the white space before them.
struct Word<'a> {
    space: &'a str,
    parts: Vec<(Style, &'a str)>,
}

impl Word<'_> {
    fn width(&self) -> usize {
        let widths = self
            .parts
            .iter()
            .map(|(_, part)| display_width(&escape_controls(part)));
        widths.sum()
    }
}

impl Text {
    /// Adds the parts as one line and ends it. A line that is wider than `width` is folded; its
    /// later lines start at column `indent`.
    pub fn push_line(&mut self, parts: &[(Style, &str)], indent: usize, width: Option<usize>) {
        let needed: usize = parts
            .iter()
            .map(|(_, part)| display_width(&escape_controls(part)))
            .sum();
        let Some(end) = width.filter(|end| needed > *end) else {
            for (style, part) in parts {
                self.push(*style, part);
            }
            self.end_line();
            return;
        };
        let mut line: Vec<(Style, String)> = Vec::new();
        let mut column = 0;
        for (number, word) in words(parts).into_iter().enumerate() {
            let mut space = word.space.to_owned();
            // The first word always stays on the line: the space before it is the margin.
            if number > 0 && column + display_width(&space) + word.width() > end && column > indent
            {
                self.push_joined(&mut line);
                space = " ".repeat(indent);
                column = 0;
            }
            column += display_width(&space) + word.width();
            push_part(&mut line, &space, &word);
        }
        self.push_joined(&mut line);
    }

    fn push_joined(&mut self, line: &mut Vec<(Style, String)>) {
        for (style, part) in line.drain(..) {
            self.push(style, &part);
        }
        self.end_line();
    }
}

/// Adds a word to a line. Text of one style stays one part, because a right-to-left sentence reads
/// in order only if it is isolated as a whole.
fn push_part(line: &mut Vec<(Style, String)>, space: &str, word: &Word) {
    let mut space = space;
    for (style, part) in &word.parts {
        match line.last_mut() {
            Some((last, text)) if last == style => {
                text.push_str(space);
                text.push_str(part);
            }
            _ => {
                if !space.is_empty() {
                    line.push((Style::Plain, space.to_owned()));
                }
                line.push((*style, (*part).to_owned()));
            }
        }
        space = "";
    }
}

/// Splits at white space. Text in backticks is one word, because a folded command cannot be
/// copied.
fn words<'a>(parts: &[(Style, &'a str)]) -> Vec<Word<'a>> {
    let mut words: Vec<Word> = Vec::new();
    let mut is_quoted = false;
    let mut space = "";
    let mut is_in_word = false;
    for (style, part) in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 && !is_quoted {
                (space, rest) = rest.split_at(blank);
                is_in_word = false;
                continue;
            }
            let is_end = |it: char| {
                is_quoted ^= it == '`';
                it.is_whitespace() && !is_quoted
            };
            let (word, later) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
            match words.last_mut() {
                Some(last) if is_in_word => last.parts.push((*style, word)),
                _ => words.push(Word {
                    space: std::mem::take(&mut space),
                    parts: vec![(*style, word)],
                }),
            }
            is_in_word = true;
            rest = later;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(parts: &[(Style, &str)], indent: usize, width: Option<usize>) -> String {
        let mut text = Text::new();
        text.push_line(parts, indent, width);
        text.as_str().to_owned()
    }

    #[test]
    fn text_that_fits_is_unchanged() {
        let parts = [(Style::Plain, "  a  b"), (Style::Plain, "   c ")];
        assert_eq!(folded(&parts, 4, None), "  a  b   c \n");
        assert_eq!(folded(&parts, 4, Some(11)), "  a  b   c \n");
    }

    #[test]
    fn text_that_does_not_fit_is_wrapped() {
        let parts = [(Style::Plain, "name  "), (Style::Plain, "one two  three")];
        assert_eq!(folded(&parts, 6, Some(14)), "name  one two\n      three\n");
        assert_eq!(
            folded(&parts, 6, Some(8)),
            "name  one\n      two\n      three\n",
            "a word that is too long stays whole"
        );
        let margin = [(Style::Plain, "    wherever it stands")];
        assert_eq!(
            folded(&margin, 6, Some(12)),
            "    wherever\n      it\n      stands\n"
        );
    }

    #[test]
    fn parts_without_space_between_them_stay_together() {
        let parts = [
            (Style::Plain, "at"),
            (Style::Dim, " key="),
            (Style::Plain, "value"),
            (Style::Dim, " k="),
            (Style::Plain, "`a b` c"),
        ];
        assert_eq!(
            folded(&parts, 1, Some(14)),
            "at \u{1b}[2mkey=\u{1b}[0mvalue\n \u{1b}[2mk=\u{1b}[0m`a b` c\n"
        );
    }

    #[test]
    fn each_line_from_right_to_left_is_kept_apart_as_a_whole() {
        let parts = [(Style::Bold, "to "), (Style::Plain, "שלום עולם שלום")];
        assert_eq!(
            folded(&parts, 3, Some(12)),
            "\u{1b}[1mto\u{1b}[0m \u{2068}שלום עולם\u{2069}\n   \u{2068}שלום\u{2069}\n"
        );
    }
}
