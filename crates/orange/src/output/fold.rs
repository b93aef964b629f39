//! Folds words into lines.

use unicode_width::UnicodeWidthStr;

use super::Style;

pub(super) type Word<'a> = (Style, &'a str);

#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The column at which the first line starts.
    pub(super) first: usize,
    /// The column at which every later line starts.
    pub(super) later: usize,
    /// The column at which lines end; `None` if lines are never folded.
    pub(super) end: Option<usize>,
}

/// Puts words into lines. A word that is longer than the line stays whole.
pub(super) fn fold<'a>(
    words: impl IntoIterator<Item = Word<'a>>,
    room: Room,
) -> Vec<Vec<Word<'a>>> {
    let mut lines = Vec::new();
    let mut line: Vec<Word> = Vec::new();
    let mut column = room.first;
    for (style, word) in words {
        let width = display_width(word);
        let is_full = room.end.is_some_and(|end| column + 1 + width > end);
        if is_full && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            column = room.later;
        }
        column += width + usize::from(!line.is_empty());
        line.push((style, word));
    }
    lines.push(line);
    lines
}

/// Splits at white space.
///
/// Text in backticks is one word, because a folded command cannot be copied.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut in_backticks = false;
    text.split(move |character: char| {
        in_backticks ^= character == '`';
        character.is_whitespace() && !in_backticks
    })
    .filter(|word| !word.is_empty())
}

pub fn display_width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str, first: usize, later: usize, end: Option<usize>) -> Vec<String> {
        let room = Room { first, later, end };
        let lines = fold(words(text).map(|word| (Style::Plain, word)), room);
        let joined = |line: Vec<Word>| {
            let words: Vec<_> = line.into_iter().map(|(_, word)| word).collect();
            words.join(" ")
        };
        lines.into_iter().map(joined).collect()
    }

    #[test]
    fn words_move_to_the_next_line_whole() {
        assert_eq!(folded("a bb ccc", 0, 0, Some(4)), ["a bb", "ccc"]);
        assert_eq!(folded("a bb ccc", 3, 0, Some(6)), ["a", "bb ccc"]);
        assert_eq!(folded("a bb ccc", 0, 3, Some(6)), ["a bb", "ccc"]);
        assert_eq!(folded("longer than", 0, 0, Some(3)), ["longer", "than"]);
        assert_eq!(folded("ä ö", 0, 0, Some(3)), ["ä ö"]);
        assert_eq!(folded("a b", 9, 9, Some(3)), ["a", "b"]);
        assert_eq!(folded("漢字 漢", 0, 0, Some(6)), ["漢字", "漢"]);
    }

    #[test]
    fn nothing_is_folded_without_an_end() {
        assert_eq!(folded(" a  b\nc ", 0, 0, None), ["a b c"]);
        assert_eq!(folded("", 0, 0, None), [""]);
    }

    #[test]
    fn a_command_in_backticks_stays_whole() {
        let lines = folded("run `a b c`, then", 0, 0, Some(8));
        assert_eq!(lines, ["run", "`a b c`,", "then"]);
        assert_eq!(folded("one ` alone", 0, 0, Some(3)), ["one", "` alone"]);
    }
}
