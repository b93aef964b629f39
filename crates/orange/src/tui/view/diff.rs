//! Draws a diff below the heading of the file on screen.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::output::display_width;
use crate::tui::fit::{from_column, put, wrap};
use crate::tui::layout::diff_room;
use crate::tui::model::Model;
use crate::tui::model::diff::{DiffLine, File, LineKind, Row};
use crate::tui::model::review::Comment;
use crate::tui::syntax::{Token, continues_comment, language, tokens};
use crate::tui::theme::Tone;

/// These signs mark the line of the cursor, the selected lines and the lines of comments.
const CURSOR: &str = "▌";
const SELECTED: &str = "│";
const COMMENT: &str = "┃";

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let detail = &model.detail;
    let (diff, files) = (&detail.diff, detail.files());
    let (top, skipped) = diff.top();
    let mut y = area.y;
    for at in top.. {
        let Some(row) = diff.row(at).filter(|_| y < area.bottom()) else {
            break;
        };
        match row {
            Row::Heading(file) => {
                draw_heading(model, file, at == diff.cursor(), (area, y), buffer);
                y += 1;
            }
            row => {
                let hidden = if at == top { skipped } else { 0 };
                let first = y;
                y += match row {
                    Row::Line(file, line) => {
                        draw_line(model, (&files[file], line), hidden, (area, y), buffer)
                    }
                    Row::Comment(_, _, line) => {
                        let text = diff.comment_line(line);
                        draw_comment(model, text, hidden, (area, y), buffer)
                    }
                    Row::Heading(_) => 0,
                };
                let mark = match (at == diff.cursor(), diff.is_selected(at)) {
                    (true, _) => CURSOR,
                    (false, true) => SELECTED,
                    (false, false) => continue,
                };
                for y in first..y {
                    put(buffer, (area.x, y), 1, mark, model.theme.style(Tone::Key));
                }
            }
        }
    }
    if let Some(file) = diff.file_on_top().filter(|_| area.height > 0)
        && !matches!(diff.row(top), Some(Row::Heading(_)))
    {
        let row = Rect { height: 1, ..area };
        buffer.set_style(row, Style::reset());
        put(
            buffer,
            (area.x, area.y),
            area.width,
            &" ".repeat(area.width.into()),
            model.theme.style(Tone::Plain),
        );
        draw_heading(model, file, false, (area, area.y), buffer);
    }
}

fn draw_heading(
    model: &Model,
    number: usize,
    is_chosen: bool,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) {
    let files = model.detail.files();
    let file = &files[number];
    let sign = if model.detail.diff.is_folded(file) {
        "▸"
    } else {
        "▾"
    };
    let tone = if is_chosen {
        Tone::Chosen
    } else {
        Tone::Strong
    };
    let diff = &model.detail.diff;
    let place = match diff.viewed_count() {
        0 => format!(" {}/{}", number + 1, files.len()),
        viewed => format!(" {}/{}, {viewed} viewed", number + 1, files.len()),
    };
    let width = u16::try_from(place.len()).unwrap_or(u16::MAX);
    let left = area.width.saturating_sub(width);
    let viewed = if diff.is_viewed(file) {
        "  ✓ viewed"
    } else {
        ""
    };
    let count = model.detail.task.as_ref().map_or(0, |task| {
        let review = model.drafts.review(task);
        let is_in_file = |it: &&Comment| it.place.path == file.path;
        review.comments.iter().filter(is_in_file).count()
    });
    let comments = match count {
        0 => String::new(),
        1 => String::from("  1 comment"),
        count => format!("  {count} comments"),
    };
    let text = format!("{sign} {}  {}{viewed}{comments}", file.path, file.size);
    put(buffer, (area.x, y), left, &text, model.theme.style(tone));
    let at = (area.x + left, y);
    put(buffer, at, width, &place, model.theme.style(Tone::Dim));
}

/// Draws a line without the parts that are above the screen; returns how many screen lines it took.
fn draw_line(
    model: &Model,
    (file, number): (&File, usize),
    hidden: usize,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) -> u16 {
    let (diff, room) = (&model.detail.diff, diff_room(model));
    let line = &file.lines[number];
    let code = Code::new(model, file, number);
    let sign = line.kind.sign();
    let x = area.x + 1 + u16::from(sign.is_some());
    let width = area.right().saturating_sub(x);
    let mut draw_sign = |y| {
        let style = model.theme.style(tone(line.kind));
        put(buffer, (area.x + 1, y), 1, sign.unwrap_or(""), style);
    };
    if !diff.is_wrapped {
        draw_sign(y);
        // git's notes about a file are not scrolled.
        let column = if sign.is_some() { diff.column } else { 0 };
        let start = line.text.len() - from_column(&line.text, column).len();
        code.draw(start..line.text.len(), (x, y), width, buffer);
        return 1;
    }
    if hidden == 0 && y < area.bottom() {
        draw_sign(y);
    }
    let mut start = 0;
    let parts = wrap(&line.text, room.width).into_iter().map(|part| {
        start += part.len();
        start - part.len()..start
    });
    let mut used_lines = 0;
    for (y, part) in (y..area.bottom()).zip(parts.skip(hidden)) {
        code.draw(part, (x, y), width, buffer);
        used_lines += 1;
    }
    used_lines
}

/// The text of a line, and the style of each part of it.
struct Code<'a> {
    text: &'a str,
    /// The byte at which each part ends, and the style of the part.
    parts: Vec<(usize, Style)>,
}

impl<'a> Code<'a> {
    fn new(model: &Model, file: &'a File, number: usize) -> Code<'a> {
        let line = &file.lines[number];
        let style = model.theme.style(tone(line.kind));
        let language = language(&file.path).filter(|_| line.kind.sign().is_some());
        let in_hunk = |it: &&DiffLine| it.kind.sign().is_some();
        let above = file.lines[..number].iter().rev().take_while(in_hunk);
        let below = file.lines[number + 1..].iter().take_while(in_hunk);
        let is_comment = language.is_some_and(|language| {
            let (above, below) = (above.map(text), below.map(text));
            continues_comment(language, &line.text, above, below)
        });
        let parts = match language {
            Some(_) if is_comment => {
                let style = token_style(model, line.kind, Token::Comment);
                vec![(line.text.len(), style)]
            }
            Some(language) => {
                let tokens = tokens(language, &line.text).into_iter();
                tokens
                    .map(|(end, token)| (end, token_style(model, line.kind, token)))
                    .collect()
            }
            None => vec![(line.text.len(), style)],
        };
        Code {
            text: &line.text,
            parts,
        }
    }

    /// Draws a part of the text, cut to a width.
    fn draw(&self, part: Range<usize>, (x, y): (u16, u16), width: u16, buffer: &mut Buffer) {
        let mut at = part.start;
        let mut used_width = 0;
        for (end, style) in &self.parts {
            let end = (*end).min(part.end);
            if end > at && used_width < width {
                let text = &self.text[at..end];
                used_width += put(
                    buffer,
                    (x + used_width, y),
                    width - used_width,
                    text,
                    *style,
                );
                at = end;
            }
        }
        // The last cell says that there is more.
        if width > 0 && display_width(&self.text[part]) > usize::from(width) {
            let style = self.parts.last().map(|(_, style)| *style);
            put(
                buffer,
                (x + width - 1, y),
                1,
                "…",
                style.unwrap_or_default(),
            );
        }
    }
}

fn text(line: &DiffLine) -> &str {
    &line.text
}

/// On a changed line the colour shows the change, so that only bold and dim are left for syntax.
fn token_style(model: &Model, kind: LineKind, token: Token) -> Style {
    let style = model.theme.style(tone(kind));
    match token {
        Token::Comment => style.add_modifier(Modifier::DIM),
        Token::Keyword => style.add_modifier(Modifier::BOLD),
        Token::Text | Token::Number if kind == LineKind::Context => {
            model.theme.style(Tone::Literal)
        }
        Token::Text | Token::Number | Token::Plain => style,
    }
}

fn draw_comment(
    model: &Model,
    text: &str,
    hidden: usize,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) -> u16 {
    let style = model.theme.style(Tone::Warn);
    let parts = wrap(text, diff_room(model).width);
    let mut used_lines = 0;
    for (y, part) in (y..area.bottom()).zip(parts.iter().skip(hidden)) {
        put(buffer, (area.x + 1, y), 1, COMMENT, style);
        let width = area.width.saturating_sub(2);
        put(buffer, (area.x + 2, y), width, part, style);
        used_lines += 1;
    }
    used_lines
}

fn tone(kind: LineKind) -> Tone {
    match kind {
        LineKind::Note => Tone::Dim,
        LineKind::Hunk => Tone::Place,
        LineKind::Context => Tone::Plain,
        LineKind::Added => Tone::Added,
        LineKind::Removed => Tone::Removed,
    }
}
