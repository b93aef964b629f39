//! Draws every key that does something now, and what the signs mean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::popup::frame;
use crate::tui::fit::put;
use crate::tui::keys::bindings;
use crate::tui::model::Model;
use crate::tui::theme::Tone;

/// What the signs in the list mean.
const SIGNS: [(&str, &str); 7] = [
    ("*", "marked: a key acts on all marked tasks"),
    ("●  ✗  ○", "an agent is running; it has exited; none"),
    ("?", "unknown whether it runs, or what it does"),
    ("waiting", "what an agent reports: working, waiting, idle"),
    ("r1/2", "the first review of at most two"),
    ("3c +9 -1", "three commits, nine lines added, one removed"),
    (
        "mouse",
        "click a task, a view or a key below; the wheel scrolls",
    ),
];

/// What the signs at the number of a pull request mean.
const REQUEST_SIGNS: [(&str, &str); 3] = [
    ("#7  ✓ ✗ …", "pull request: checks passed, failed, running"),
    ("    ! ±", "it has a conflict; a reviewer wants changes"),
    ("    » M C", "in the merge queue, merged, closed"),
];

/// The width of a key with its label.
const COLUMN: u16 = 23;

/// The lines, as parts with their tones.
fn lines(model: &Model) -> Vec<Vec<(Tone, String)>> {
    let all = bindings(model);
    let mut lines = Vec::new();
    let columns = (model.width.saturating_sub(6) / COLUMN).clamp(1, 3);
    for chunk in all.chunks(columns.into()) {
        let parts = chunk.iter().flat_map(|it| {
            let (key, label) = (format!("{:<6}", it.key_label), format!("{:<17}", it.label));
            [(Tone::Key, key), (Tone::Plain, label)]
        });
        lines.push(parts.collect());
    }
    lines.push(Vec::new());
    let line = |(sign, means): (&str, &str)| {
        let sign = format!("{sign:<10}");
        vec![(Tone::Plain, sign), (Tone::Dim, means.to_owned())]
    };
    lines.extend(SIGNS.map(line));
    if !model.list.pull_requests.seen.is_empty() {
        lines.extend(REQUEST_SIGNS.map(line));
    }
    lines
}

pub fn help_height(model: &Model) -> usize {
    lines(model).len()
}

pub(super) fn draw(model: &Model, scroll: usize, area: Rect, buffer: &mut Buffer) {
    let lines = lines(model);
    let title = match model.list.selected() {
        Some(entry) => format!("Keys for {} in {}", entry.row.id, entry.row.status),
        None => String::from("Keys"),
    };
    let inside = frame(model, &title, lines.len(), area, buffer);
    let maximum = lines.len().saturating_sub(inside.height.into());
    let shown = lines.iter().skip(scroll.min(maximum));
    for (y, line) in (inside.y..inside.bottom()).zip(shown) {
        let mut x = inside.x;
        for (tone, text) in line {
            let left = inside.right().saturating_sub(x);
            x += put(buffer, (x, y), left, text, model.theme.style(*tone));
        }
    }
}
