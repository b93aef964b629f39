//! Draws a diff, with the file on screen as its first line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::fit::{from_column, put, wrap};
use crate::tui::layout::diff_room;
use crate::tui::model::Model;
use crate::tui::model::diff::{DiffLine, LineKind, Row};
use crate::tui::theme::Tone;

/// Marks the line of the cursor.
const CURSOR: &str = "▌";

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
            Row::Line(file, line) => {
                let line = &files[file].lines[line];
                let hidden = if at == top { skipped } else { 0 };
                let first = y;
                y += draw_line(model, line, hidden, (area, y), buffer);
                if at == diff.cursor() {
                    for y in first..y {
                        let style = model.theme.style(Tone::Key);
                        put(buffer, (area.x, y), 1, CURSOR, style);
                    }
                }
            }
        }
    }
    if let Some(file) = diff.file_on_top().filter(|_| area.height > 0)
        && !matches!(diff.row(top), Some(Row::Heading(_)))
    {
        let row = Rect { height: 1, ..area };
        buffer.set_style(row, ratatui::style::Style::reset());
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
    let place = format!(" {}/{}", number + 1, files.len());
    let width = u16::try_from(place.len()).unwrap_or(u16::MAX);
    let left = area.width.saturating_sub(width);
    let text = format!("{sign} {}  {}", file.path, file.size);
    put(buffer, (area.x, y), left, &text, model.theme.style(tone));
    let at = (area.x + left, y);
    put(buffer, at, width, &place, model.theme.style(Tone::Dim));
}

/// Draws a line without the parts that are above the screen; returns how many screen lines it took.
fn draw_line(
    model: &Model,
    line: &DiffLine,
    hidden: usize,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) -> u16 {
    let (diff, room) = (&model.detail.diff, diff_room(model));
    let style = model.theme.style(tone(line.kind));
    let sign = line.kind.sign();
    let x = area.x + 1 + u16::from(sign.is_some());
    let width = area.right().saturating_sub(x);
    if !diff.is_wrapped {
        // What git says about a file stays in place.
        let column = if sign.is_some() { diff.column } else { 0 };
        put(buffer, (area.x + 1, y), 1, sign.unwrap_or(""), style);
        put(
            buffer,
            (x, y),
            width,
            from_column(&line.text, column),
            style,
        );
        return 1;
    }
    let parts = wrap(&line.text, room.width);
    let shown = (y..area.bottom()).zip(parts.iter().enumerate().skip(hidden));
    let mut taken = 0;
    for (y, (number, part)) in shown {
        if number == 0 {
            put(buffer, (area.x + 1, y), 1, sign.unwrap_or(""), style);
        }
        put(buffer, (x, y), width, part, style);
        taken += 1;
    }
    taken
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
