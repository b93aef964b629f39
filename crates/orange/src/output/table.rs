//! Rows in columns, the last of which is folded to fit.

use super::fold::{Room, display_width, words};
use super::{Style, Text};

const GAP: &str = "  ";

/// A sentence goes below its row if its column would be narrower than this.
const NARROWEST: usize = 30;

/// The indentation of the last column when it is below its row.
const BELOW: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    style: Style,
    text: String,
}

impl Cell {
    /// A cell; every run of white space in it becomes one space.
    pub fn new(style: Style, text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        Self {
            style,
            text: words.join(" "),
        }
    }
}

/// A table of `N` narrow columns and a last one that holds sentences.
#[derive(Clone, Debug)]
pub struct Table<const N: usize> {
    alignments: [Alignment; N],
    rows: Vec<([Cell; N], Cell)>,
}

impl<const N: usize> Table<N> {
    pub fn new(columns: [(&str, Alignment); N], last: &str) -> Self {
        let headings = columns.map(|(heading, _)| Cell::new(Style::Bold, heading));
        Self {
            alignments: columns.map(|(_, alignment)| alignment),
            rows: vec![(headings, Cell::new(Style::Bold, last))],
        }
    }

    pub fn push(&mut self, row: [Cell; N], last: Cell) {
        self.rows.push((row, last));
    }

    /// The table as text, folded to `width` if there is one.
    pub fn to_text(&self, width: Option<usize>) -> Text {
        let widths = self.widths();
        let last_start: usize = widths.iter().map(|width| width + GAP.len()).sum();
        let room_for_last = width.map_or(usize::MAX, |width| width.saturating_sub(last_start));

        let mut text = Text::new();
        for (row, last) in &self.rows {
            let padding = self.push_narrow(&mut text, row, &widths);
            let needed = display_width(&last.text);
            if needed > room_for_last && room_for_last < NARROWEST {
                text.end_line();
                text.push(Style::Plain, &" ".repeat(BELOW));
                push_last(&mut text, last, BELOW, width);
            } else if needed > 0 {
                text.push(Style::Plain, &padding);
                push_last(&mut text, last, last_start, width);
            }
            text.end_line();
        }
        text
    }

    /// Adds the narrow columns; returns the spaces to put before the last column.
    fn push_narrow(&self, text: &mut Text, row: &[Cell; N], widths: &[usize; N]) -> String {
        let mut padding = String::new();
        for ((cell, width), alignment) in row.iter().zip(widths).zip(self.alignments) {
            let missing = " ".repeat(width.saturating_sub(display_width(&cell.text)));
            let (before, after) = match alignment {
                Alignment::Left => (String::new(), missing),
                Alignment::Right => (missing, String::new()),
            };
            text.push(Style::Plain, &(padding + &before));
            text.push(cell.style, &cell.text);
            padding = after + GAP;
        }
        padding
    }

    fn widths(&self) -> [usize; N] {
        std::array::from_fn(|column| {
            let widths = self
                .rows
                .iter()
                .map(|(row, _)| display_width(&row[column].text));
            widths.max().unwrap_or_default()
        })
    }
}

fn push_last(text: &mut Text, cell: &Cell, column: usize, end: Option<usize>) {
    let words = words(&cell.text).map(|word| (cell.style, word));
    let room = Room {
        first: column,
        later: column,
        end,
    };
    text.push_folded(words, room);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<2> {
        let columns = [("NAME", Alignment::Left), ("STATES", Alignment::Right)];
        let mut table = Table::new(columns, "DESCRIPTION");
        let plain = |text: &str| Cell::new(Style::Plain, text);
        let sentence = "An agent works,\n  a person reviews and merges.";
        table.push([plain("minimal"), plain("5")], plain(sentence));
        table.push([plain("ä"), plain("12")], plain(""));
        table
    }

    fn plain(text: &Text) -> String {
        text.as_str()
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[0m", "")
    }

    #[test]
    fn nothing_is_folded_without_a_terminal() {
        assert_eq!(
            plain(&table().to_text(None)),
            "NAME     STATES  DESCRIPTION\n\
             minimal       5  An agent works, a person reviews and merges.\n\
             ä            12\n"
        );
    }

    #[test]
    fn the_last_column_is_folded_beside_the_others() {
        assert_eq!(
            plain(&table().to_text(Some(50))),
            "NAME     STATES  DESCRIPTION\n\
             minimal       5  An agent works, a person reviews\n\
             \u{20}                and merges.\n\
             ä            12\n"
        );
    }

    #[test]
    fn the_last_column_moves_below_when_it_would_be_narrow() {
        assert_eq!(
            plain(&table().to_text(Some(40))),
            "NAME     STATES  DESCRIPTION\n\
             minimal       5\n\
             \u{20}   An agent works, a person reviews and\n\
             \u{20}   merges.\n\
             ä            12\n"
        );
    }
}
