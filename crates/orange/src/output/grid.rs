//! Rows of one line each, in columns that are cut to fit.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use super::fold::display_width;
use super::text::{FIRST_STRONG_ISOLATE, POP_ISOLATE, escape_controls, is_plain};
use super::{Alignment, Style};

const GAP: usize = 2;

/// If lines are not cut, the texts of a shrinkable column are padded to at most this width.
const WIDEST_PADDED: usize = 60;

/// Marks text that was cut off.
const CUT: char = '…';

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub heading: &'static str,
    pub alignment: Alignment,
    /// The minimum width on a narrow terminal; `None` if the column never shrinks. The last column
    /// shrinks first.
    pub narrowest: Option<usize>,
}

impl Column {
    pub const fn text(heading: &'static str, narrowest: Option<usize>) -> Column {
        Column {
            heading,
            alignment: Alignment::Left,
            narrowest,
        }
    }

    pub const fn number(heading: &'static str) -> Column {
        Column {
            heading,
            alignment: Alignment::Right,
            narrowest: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Grid<'text, const N: usize> {
    columns: [Column; N],
    rows: Vec<[Cell<'text>; N]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RenderOptions {
    /// The width of the terminal; `None` if no line is cut.
    pub(super) width: Option<usize>,
    pub(super) is_coloured: bool,
    pub(super) is_terminal: bool,
}

impl<'text, const N: usize> Grid<'text, N> {
    pub fn new(columns: [Column; N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row. A column that is empty in every row is left out.
    pub fn push(&mut self, row: [(Style, Cow<'text, str>); N]) {
        self.rows.push(row.map(Cell::new));
    }

    pub(super) fn to_text(&self, options: RenderOptions) -> String {
        let widths = self.widths(options.width);
        let total: usize = widths.iter().flatten().map(|it| it + GAP).sum();
        let mut line = Line {
            text: String::with_capacity((total + 8) * (self.rows.len() + 1)),
            options,
            pending_spaces: 0,
        };
        let headings = self.columns.map(|it| (Style::Bold, Cow::from(it.heading)));
        self.push_line(&mut line, &headings.map(Cell::new), &widths);
        for row in &self.rows {
            self.push_line(&mut line, row, &widths);
        }
        line.text
    }

    fn push_line(&self, line: &mut Line, row: &[Cell<'_>; N], widths: &[Option<usize>; N]) {
        let columns = row.iter().zip(widths).zip(&self.columns);
        for ((cell, width), column) in columns {
            if let Some(width) = width {
                line.push(cell, *width, column.alignment);
            }
        }
        line.end();
    }

    /// The width of each column; `None` if it is left out.
    fn widths(&self, width: Option<usize>) -> [Option<usize>; N] {
        let mut widths: [Option<usize>; N] = std::array::from_fn(|column| {
            let widest = self.rows.iter().map(|row| row[column].width).max();
            let widest = widest.filter(|widest| *widest > 0)?;
            Some(widest.max(display_width(self.columns[column].heading)))
        });
        let Some(room) = width else {
            // Nothing is cut without a terminal, but one long text must not pad every other row.
            for (width, column) in widths.iter_mut().zip(&self.columns) {
                if let (Some(width), Some(_)) = (width, column.narrowest) {
                    *width = (*width).min(WIDEST_PADDED);
                }
            }
            return widths;
        };
        for (column, index) in self.columns.iter().zip(0..N).rev() {
            let total: usize = widths.iter().flatten().map(|it| it + GAP).sum();
            let excess = total.saturating_sub(room + GAP);
            if let (Some(width), Some(narrowest)) = (&mut widths[index], column.narrowest) {
                *width = width.saturating_sub(excess).max(narrowest.min(*width));
            }
        }
        widths
    }
}

/// A cell and its width in columns.
#[derive(Clone, Debug)]
struct Cell<'text> {
    style: Style,
    text: Cow<'text, str>,
    width: usize,
}

impl<'text> Cell<'text> {
    fn new((style, text): (Style, Cow<'text, str>)) -> Self {
        if is_plain(&text) {
            let width = text.len();
            return Self { style, text, width };
        }
        let text = match text {
            Cow::Borrowed(text) => escape_controls(text),
            Cow::Owned(text) => Cow::Owned(escape_controls(&text).into_owned()),
        };
        let width = display_width(&text);
        Self { style, text, width }
    }
}

struct Line {
    text: String,
    options: RenderOptions,
    /// Spaces that are written only if more text follows on the line.
    pending_spaces: usize,
}

impl Line {
    fn push(&mut self, cell: &Cell<'_>, width: usize, alignment: Alignment) {
        let padding = width.saturating_sub(cell.width);
        if alignment == Alignment::Right {
            self.pending_spaces += padding;
        }
        if cell.width > 0 {
            self.write_pending_spaces();
            let truncated;
            let text = if cell.width > width && self.options.width.is_some() {
                truncated = truncate(&cell.text, width);
                truncated.as_str()
            } else {
                &cell.text
            };
            // Unicode isolates protect neighbouring text on a terminal; elsewhere the output must
            // be exact.
            let text = if self.options.is_terminal {
                text
            } else {
                text.trim_matches([FIRST_STRONG_ISOLATE, POP_ISOLATE])
            };
            if self.options.is_coloured {
                self.text.push_str(&cell.style.paint(text));
            } else {
                self.text.push_str(text);
            }
        }
        if alignment == Alignment::Left {
            self.pending_spaces += padding;
        }
        self.pending_spaces += GAP;
    }

    fn write_pending_spaces(&mut self) {
        self.text.extend(std::iter::repeat_n(
            ' ',
            std::mem::take(&mut self.pending_spaces),
        ));
    }

    fn end(&mut self) {
        self.pending_spaces = 0;
        self.text.push('\n');
    }
}

/// The beginning of a text, cut to the width, with a mark that it was cut.
pub fn truncate(text: &str, width: usize) -> String {
    let room = width.saturating_sub(1);
    let mut used_width = 0;
    let mut kept = String::new();
    for character in text.chars() {
        used_width += character.width().unwrap_or(0);
        if used_width > room {
            break;
        }
        kept.push(character);
    }
    let mut kept = kept.trim_end().to_owned();
    kept.push(CUT);
    // Close the isolate that was opened for right-to-left text.
    if kept.starts_with(FIRST_STRONG_ISOLATE) {
        kept.push(POP_ISOLATE);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid<'static, 3> {
        let column = |heading, alignment, narrowest| Column {
            heading,
            alignment,
            narrowest,
        };
        let mut grid = Grid::new([
            column("ID", Alignment::Left, None),
            column("N", Alignment::Right, None),
            column("SUMMARY", Alignment::Left, Some(8)),
        ]);
        let plain = |text: &'static str| (Style::Plain, Cow::from(text));
        grid.push([plain("a"), plain("1"), plain("a sentence of some length")]);
        grid.push([
            plain("bcd"),
            plain("12"),
            plain("漢字漢字漢字漢字漢字漢字漢字"),
        ]);
        grid.push([plain("e"), plain(""), plain("")]);
        grid
    }

    fn text(grid: &Grid<'_, 3>, width: Option<usize>, is_coloured: bool) -> String {
        grid.to_text(RenderOptions {
            width,
            is_coloured,
            is_terminal: width.is_some(),
        })
    }

    #[test]
    fn nothing_is_cut_without_a_terminal() {
        assert_eq!(
            text(&grid(), None, false),
            "ID    N  SUMMARY\n\
             a     1  a sentence of some length\n\
             bcd  12  漢字漢字漢字漢字漢字漢字漢字\n\
             e\n"
        );
    }

    #[test]
    fn a_long_text_does_not_pad_the_other_rows() {
        let mut grid = Grid::new([
            Column::text("WHAT", Some(8)),
            Column::text("RUN", None),
            Column::text("", None),
        ]);
        let plain = |text: &str| (Style::Plain, Cow::from(text.to_owned()));
        let long = "x".repeat(450);
        grid.push([plain(&long), plain("a"), plain("")]);
        grid.push([plain("short"), plain("b"), plain("")]);
        let text = text(&grid, None, false);
        assert!(text.contains(&format!("{long}  a\n")), "{text}");
        let longest = text.lines().filter(|line| !line.starts_with('x'));
        assert!(longest.map(str::len).max() < Some(80), "{text}");
    }

    #[test]
    fn every_line_fits_the_terminal() {
        for width in 18..60 {
            for line in text(&grid(), Some(width), false).lines() {
                assert!(display_width(line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(
            text(&grid(), Some(20), false),
            "ID    N  SUMMARY\n\
             a     1  a sentence…\n\
             bcd  12  漢字漢字漢…\n\
             e\n"
        );
    }

    #[test]
    fn colour_is_used_only_on_request() {
        let mut grid = grid();
        let nothing = || (Style::Plain, Cow::from(""));
        grid.push([(Style::Bad, Cow::from("x")), nothing(), nothing()]);
        assert!(text(&grid, None, true).ends_with("\u{1b}[1;31mx\u{1b}[0m\n"));
        assert!(!text(&grid, None, false).contains('\u{1b}'));
    }
}
