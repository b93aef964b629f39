//! The diff on screen: its rows, the cursor and what is folded.

use std::collections::{BTreeMap, BTreeSet};

use super::review::{Comment, Review};
use crate::output::display_width;
use crate::tui::fit::wrapped_height;

/// A file of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub size: String,
    /// A digest of its diff; it changes whenever the diff changes.
    pub digest: String,
    pub lines: Vec<DiffLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Without its sign, without tabs and without characters that act on a terminal.
    pub text: String,
    /// Its number in the new file; for a removed line, its number in the old file.
    pub number: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// What git says about the file.
    Note,
    /// The first line of a hunk.
    Hunk,
    Context,
    Added,
    Removed,
}

impl LineKind {
    /// The sign in front of the text; `None` for a line that is not part of the file.
    pub fn sign(self) -> Option<&'static str> {
        match self {
            LineKind::Note | LineKind::Hunk => None,
            LineKind::Context => Some(" "),
            LineKind::Added => Some("+"),
            LineKind::Removed => Some("-"),
        }
    }
}

/// A row of the diff; on screen it takes several lines if it is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The heading of this file.
    Heading(usize),
    /// A line of a file: the index of the file and of the line.
    Line(usize, usize),
    /// A line of a comment: the index of the file, of the comment, and of the line among all
    /// comments' lines.
    Comment(usize, usize, usize),
}

/// The place of a screen line: a row, and which of the row's lines.
type Place = (usize, usize);

/// The columns and lines for the diff on screen.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub width: usize,
    pub height: usize,
}

/// What is shown of a diff. Rows and places refer to the files that were last given to `arrange`.
#[derive(Clone, Debug)]
pub struct DiffView {
    rows: Vec<Row>,
    /// The row of the cursor.
    cursor: usize,
    /// The first screen line. If it is not a heading, the heading of its file covers it.
    top: Place,
    pub is_wrapped: bool,
    /// How far the lines are scrolled sideways, if they are not wrapped.
    pub column: usize,
    /// The files that the user folded or unfolded, by path.
    folded: BTreeMap<String, bool>,
    /// The digests of the viewed files, which are folded unless the user unfolded them. Not their
    /// paths, because two files can have the same path: a file that became a link is removed and
    /// added.
    viewed: BTreeSet<String>,
    /// The lines of all comments.
    comment_lines: Vec<String>,
    /// The row at which the user began to select lines.
    selection_start: Option<usize>,
}

impl Default for DiffView {
    fn default() -> Self {
        DiffView {
            rows: Vec::new(),
            cursor: 0,
            top: (0, 0),
            is_wrapped: true,
            column: 0,
            folded: BTreeMap::new(),
            viewed: BTreeSet::new(),
            comment_lines: Vec::new(),
            selection_start: None,
        }
    }
}

impl DiffView {
    /// Starts over for another task; whether lines are wrapped stays.
    pub fn reset(&mut self) {
        *self = DiffView {
            is_wrapped: self.is_wrapped,
            ..DiffView::default()
        };
    }

    pub fn is_folded(&self, file: &File) -> bool {
        let chosen = self.folded.get(&file.path).copied();
        chosen.unwrap_or_else(|| self.is_viewed(file))
    }

    pub fn is_viewed(&self, file: &File) -> bool {
        self.viewed.contains(&file.digest)
    }

    pub fn viewed_count(&self) -> usize {
        self.viewed.len()
    }

    /// Forgets that the user folded or unfolded a file.
    pub fn fold_by_default(&mut self, file: &File) {
        self.folded.remove(&file.path);
    }

    /// Makes the rows of these files. The cursor stays on its line, or near it.
    pub fn arrange(&mut self, old_files: &[File], files: &[File], review: &Review) {
        let old_row = self.rows.get(self.cursor).copied();
        let viewed = files.iter().filter(|it| review.is_viewed(it));
        self.viewed = viewed.map(|it| it.digest.clone()).collect();
        let row_count = self.rows.len();
        self.rows.clear();
        self.comment_lines.clear();
        for (number, file) in files.iter().enumerate() {
            self.rows.push(Row::Heading(number));
            if !self.is_folded(file) {
                self.push_lines(number, file, review);
            }
        }
        self.push_lost_comments(files, review);
        if self.rows.len() != row_count {
            self.selection_start = None;
        }
        let distance = self.cursor.saturating_sub(self.top.0);
        let found = old_row.and_then(|row| self.find(row, old_files, files));
        self.cursor = found.unwrap_or(self.cursor).min(self.last());
        self.top.0 = self.cursor.saturating_sub(distance);
    }

    /// Adds the lines of a file, each with the comments on it.
    fn push_lines(&mut self, number: usize, file: &File, review: &Review) {
        let mut comments: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (at, comment) in review.comments.iter().enumerate() {
            let place = &comment.place;
            if place.path == file.path {
                let last = place.find(file).map(|first| first + place.count.max(1) - 1);
                comments.entry(last).or_default().push(at);
            }
        }
        for line in std::iter::once(None).chain((0..file.lines.len()).map(Some)) {
            if let Some(line) = line {
                self.rows.push(Row::Line(number, line));
            }
            for at in comments.remove(&line).into_iter().flatten() {
                let is_lost = line.is_none();
                self.push_comment(number, at, is_lost, review);
            }
        }
    }

    /// Adds the comments on files that are no longer in the diff to the last file.
    fn push_lost_comments(&mut self, files: &[File], review: &Review) {
        for (at, comment) in review.comments.iter().enumerate() {
            let is_shown = files.iter().any(|it| it.path == comment.place.path);
            if let (false, Some(last)) = (is_shown, files.len().checked_sub(1)) {
                self.push_comment(last, at, true, review);
            }
        }
    }

    fn push_comment(&mut self, file: usize, at: usize, is_lost: bool, review: &Review) {
        let Comment { place, text } = &review.comments[at];
        let intro = match (is_lost, place.count) {
            (true, _) => Some(format!(
                "on {}, {}, which the diff no longer has:",
                place.path,
                place.lines()
            )),
            (false, 1) => None,
            (false, _) => Some(format!("on {}:", place.lines())),
        };
        for line in intro.into_iter().chain(text.lines().map(str::to_owned)) {
            let number = self.comment_lines.len();
            self.comment_lines.push(line);
            self.rows.push(Row::Comment(file, at, number));
        }
    }

    pub fn comment_line(&self, number: usize) -> &str {
        self.comment_lines.get(number).map_or("", String::as_str)
    }

    /// Starts a selection at the cursor, or ends it.
    pub fn toggle_selection(&mut self) {
        self.selection_start = match self.selection_start {
            Some(_) => None,
            None => Some(self.cursor),
        };
    }

    pub fn start_selection(&mut self) {
        self.selection_start.get_or_insert(self.cursor);
    }

    pub fn has_selection(&self) -> bool {
        self.selection_start.is_some()
    }

    /// Selects nothing; returns whether something was selected.
    pub fn end_selection(&mut self) -> bool {
        self.selection_start.take().is_some()
    }

    pub fn is_selected(&self, row: usize) -> bool {
        self.selection_start.is_some_and(|start| {
            let (first, last) = (start.min(self.cursor), start.max(self.cursor));
            (first..=last).contains(&row)
        })
    }

    /// The indexes of the file at the cursor and of the first and last line that a comment would be
    /// about: the selected lines, else the line at the cursor.
    pub fn selected_lines(&self) -> Option<(usize, usize, usize)> {
        let start = self.selection_start.unwrap_or(self.cursor);
        let (first, last) = (start.min(self.cursor), start.max(self.cursor));
        let here = self.file()?;
        let lines = self.rows.get(first..=last)?.iter();
        let mut lines = lines.filter_map(|row| match row {
            Row::Line(file, line) if *file == here => Some(*line),
            _ => None,
        });
        let first = lines.next()?;
        Some((here, first, lines.next_back().unwrap_or(first)))
    }

    /// Where a row of the old files is among the new ones: the same line of the same file, else its
    /// neighbour, else the heading.
    fn find(&self, row: Row, old_files: &[File], files: &[File]) -> Option<usize> {
        let old = old_files.get(file_of(row))?;
        let file = files.iter().position(|it| it.path == old.path)?;
        let heading = self.rows.iter().position(|it| *it == Row::Heading(file))?;
        let (Row::Line(_, at), false) = (row, self.is_folded(&files[file])) else {
            return match row {
                Row::Comment(..) => None,
                _ => Some(heading),
            };
        };
        let lines = &files[file].lines;
        let same = old.lines.get(at).and_then(|line| {
            let same = |it: &DiffLine| it.kind == line.kind && it.text == line.text;
            let candidates = (0..lines.len()).filter(|number| same(&lines[*number]));
            candidates.min_by_key(|number| number.abs_diff(at))
        });
        let line = same.unwrap_or(at.min(lines.len().saturating_sub(1)));
        let mut rows = self.rows.iter().skip(heading);
        rows.position(|it| *it == Row::Line(file, line))
            .map(|at| heading + at)
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    pub fn row(&self, at: usize) -> Option<Row> {
        self.rows.get(at).copied()
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The first row on screen, and how many of its lines are above the screen.
    pub fn top(&self) -> (usize, usize) {
        self.top
    }

    /// The file at the cursor.
    pub fn file(&self) -> Option<usize> {
        self.row(self.cursor).map(file_of)
    }

    /// The file at the top of the screen.
    pub fn file_on_top(&self) -> Option<usize> {
        self.row(self.top.0).map(file_of)
    }

    /// How many screen lines a row takes.
    pub fn height(&self, at: usize, files: &[File], room: Room) -> usize {
        match self.row(at) {
            Some(Row::Comment(_, _, line)) => wrapped_height(self.comment_line(line), room.width),
            Some(Row::Line(file, line)) if self.is_wrapped => {
                let line = files.get(file).and_then(|file| file.lines.get(line));
                line.map_or(1, |line| wrapped_height(&line.text, room.width))
            }
            _ => 1,
        }
    }

    /// The width of the widest line on screen.
    pub fn widest(&self, files: &[File], room: Room) -> usize {
        let rows = self.rows.iter().skip(self.top.0).take(room.height);
        let widths = rows.map(|row| match row {
            Row::Line(file, line) => display_width(&files[*file].lines[*line].text),
            Row::Heading(_) | Row::Comment(..) => 0,
        });
        widths.max().unwrap_or(0)
    }

    fn down(&self, mut from: Place, mut by: usize, files: &[File], room: Room) -> Place {
        while by > 0 {
            let rest = self.height(from.0, files, room) - 1 - from.1;
            if by <= rest {
                return (from.0, from.1 + by);
            }
            if from.0 >= self.last() {
                return (from.0, from.1 + rest);
            }
            by -= rest + 1;
            from = (from.0 + 1, 0);
        }
        from
    }

    fn up(&self, mut from: Place, mut by: usize, files: &[File], room: Room) -> Place {
        while by > 0 {
            if by <= from.1 {
                return (from.0, from.1 - by);
            }
            if from.0 == 0 {
                return (0, 0);
            }
            by -= from.1 + 1;
            from.0 -= 1;
            from.1 = self.height(from.0, files, room) - 1;
        }
        from
    }

    /// The row that is this many lines below the top of the screen; the last one if there is none.
    pub fn row_at(&self, line: usize, files: &[File], room: Room) -> usize {
        self.down(self.top, line, files, room).0
    }

    /// Puts a row at the top of the screen, below the heading of its file.
    fn put_on_top(&mut self, row: usize, files: &[File], room: Room) {
        let above = usize::from(!matches!(self.row(row), Some(Row::Heading(_))));
        self.top = self.up((row, 0), above, files, room);
    }

    /// Moves the cursor by rows. A row that is taller than the screen is scrolled through first.
    pub fn move_by(&mut self, by: isize, files: &[File], room: Room) {
        let height = self.height(self.cursor, files, room);
        if by == 1 && height >= room.height {
            let bottom = self.down(self.top, room.height.saturating_sub(1), files, room);
            if bottom < (self.cursor, height - 1) {
                self.top = self.down(self.top, 1, files, room);
                return;
            }
        }
        self.cursor = self.cursor.saturating_add_signed(by).min(self.last());
        self.show_cursor(files, room);
    }

    /// Scrolls by screen lines; the cursor stays where it is on screen.
    pub fn scroll_by(&mut self, by: isize, files: &[File], room: Room) {
        let line = (0..room.height)
            .find(|line| self.row_at(*line, files, room) == self.cursor)
            .unwrap_or(0);
        let end = (self.last(), self.height(self.last(), files, room) - 1);
        let lowest_top = self.up(end, room.height.saturating_sub(1), files, room);
        let (before, steps) = (self.top, by.unsigned_abs());
        if by < 0 {
            self.top = self.up(self.top, steps, files, room);
        } else {
            let to = self.down(self.top, steps, files, room);
            self.top = to.min(lowest_top).max(self.top);
        }
        self.cursor = if self.top == before {
            let to = self.cursor.saturating_add_signed(by);
            to.min(self.last())
        } else {
            self.row_at(line, files, room)
        };
        self.show_cursor(files, room);
    }

    /// Moves the cursor to the next or previous row for which `is_target` holds, and scrolls that
    /// row to the top.
    pub fn jump(
        &mut self,
        is_forward: bool,
        is_target: impl Fn(Row) -> bool,
        files: &[File],
        room: Room,
    ) {
        let is_match = |row: &usize| self.row(*row).is_some_and(&is_target);
        let found = if is_forward {
            (self.cursor + 1..self.rows.len()).find(is_match)
        } else {
            (0..self.cursor).rev().find(is_match)
        };
        if let Some(row) = found {
            self.cursor = row;
            self.put_on_top(row, files, room);
        }
    }

    /// Moves the cursor to the row at a line of the screen.
    pub fn point_at(&mut self, line: usize, files: &[File], room: Room) {
        let (top, is_covered) = (self.row(self.top.0), line == 0);
        let heading = top.map(|row| Row::Heading(file_of(row)));
        self.cursor = match heading.filter(|_| is_covered) {
            Some(heading) => self.rows.iter().position(|it| *it == heading).unwrap_or(0),
            None => self.row_at(line, files, room),
        };
        self.show_cursor(files, room);
    }

    /// Folds or unfolds the file at the cursor, and moves the cursor to its heading.
    pub fn fold(&mut self, files: &[File], review: &Review, room: Room) {
        let Some(file) = self.file().and_then(|at| Some((at, files.get(at)?))) else {
            return;
        };
        let (number, file) = file;
        let is_folded = self.is_folded(file);
        if is_folded == self.is_viewed(file) {
            self.folded.insert(file.path.clone(), !is_folded);
        } else {
            self.fold_by_default(file);
        }
        self.go_to_heading(number);
        self.arrange(files, files, review);
        self.show_cursor(files, room);
    }

    pub fn go_to_heading(&mut self, file: usize) {
        let heading = self.rows.iter().position(|it| *it == Row::Heading(file));
        self.cursor = heading.unwrap_or(0);
    }

    /// Scrolls as little as possible, so that the cursor is on screen.
    pub fn show_cursor(&mut self, files: &[File], room: Room) {
        self.cursor = self.cursor.min(self.last());
        let top_height = self.height(self.top.0, files, room);
        self.top = (
            self.top.0.min(self.last()),
            self.top.1.min(top_height.saturating_sub(1)),
        );
        let height = self.height(self.cursor, files, room);
        let is_heading = matches!(self.row(self.cursor), Some(Row::Heading(_)));
        // The first screen line shows a heading.
        let first = if is_heading {
            self.top
        } else {
            self.down(self.top, 1, files, room)
        };
        let is_tall = height >= room.height;
        let end = (self.cursor, if is_tall { 0 } else { height - 1 });
        let bottom = self.down(self.top, room.height.saturating_sub(1), files, room);
        if is_tall && self.cursor == self.top.0 {
            return;
        }
        if (self.cursor, 0) < first {
            self.put_on_top(self.cursor, files, room);
        } else if end > bottom {
            let lines = room.height.saturating_sub(1);
            self.top = self.up(end, lines, files, room);
        }
    }
}

fn file_of(row: Row) -> usize {
    let (Row::Heading(file) | Row::Line(file, _) | Row::Comment(file, ..)) = row;
    file
}
