//! Draws a request for permission: all of it, scrolled.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::popup::{frame, put_lines, room};
use crate::tui::fit::wrap_text;
use crate::tui::model::Model;
use crate::tui::model::mode::PermissionBox;
use crate::tui::theme::Tone;

/// The lines that the request cannot use: the screen's first and last, the frame, and the note.
const TAKEN: usize = 5;

/// How many lines the request has, and how many of them fit.
pub fn extent(model: &Model, dialog: &PermissionBox) -> (usize, usize) {
    let area = Rect::new(0, 0, model.width, model.height);
    let lines = lines(dialog, room(area)).len();
    (
        lines,
        usize::from(model.height).saturating_sub(TAKEN).min(lines),
    )
}

/// The tool, the directory and the command; nothing is left out.
fn lines(dialog: &PermissionBox, width: usize) -> Vec<(Tone, String)> {
    let request = &dialog.request;
    let directory = request.directory.as_deref();
    let directory = directory.unwrap_or("an unknown directory");
    let head = format!("It asks to use {} in {directory}:", request.tool);
    let head = wrap_text(&head, width).into_iter();
    let blank = [(Tone::Plain, String::new())];
    let command = wrap_text(&request.command, width).into_iter();
    head.map(|line| (Tone::Dim, line))
        .chain(blank)
        .chain(command.map(|line| (Tone::Plain, line)))
        .collect()
}

pub(super) fn draw(model: &Model, dialog: &PermissionBox, area: Rect, buffer: &mut Buffer) {
    let (count, height) = extent(model, dialog);
    let below = count.saturating_sub(dialog.scroll + height);
    let text = lines(dialog, room(area)).into_iter();
    let mut text: Vec<_> = text.skip(dialog.scroll).take(height).collect();
    text.push(if dialog.is_over {
        let over = "The agent no longer waits for an answer.";
        (Tone::Warn, over.to_owned())
    } else if below > 0 {
        (Tone::Warn, format!("{below} more lines: Space reads on"))
    } else {
        (Tone::Plain, String::new())
    });
    let title = format!("Permission for {}", dialog.task);
    let inside = frame(model, &title, text.len(), area, buffer);
    put_lines(model, &text, inside, buffer);
}
