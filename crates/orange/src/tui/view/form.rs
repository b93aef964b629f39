//! Draws the form for a new task.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::popup::{field, frame};
use crate::tui::fit::put;
use crate::tui::model::Model;
use crate::tui::model::form::{Choice, Form, Part};
use crate::tui::theme::Tone;

/// The width of the column with the names of the parts.
const NAMES: u16 = 10;

pub(super) fn draw(model: &Model, form: &Form, area: Rect, buffer: &mut Buffer) {
    let spare = area.height.saturating_sub(14);
    let heights = |part: Part| match part {
        Part::Summary => 2 + (spare / 4).min(2),
        Part::Context => 2 + (spare / 2).min(8),
        _ => 1,
    };
    let height: u16 = Part::ALL.iter().map(|part| heights(*part)).sum();
    let inside = frame(model, "New task", height.into(), area, buffer);
    let mut y = inside.y;
    for part in Part::ALL {
        let height = heights(part).min(inside.bottom().saturating_sub(y));
        let has_focus = form.focus == part;
        let tone = if has_focus { Tone::Key } else { Tone::Dim };
        put(
            buffer,
            (inside.x, y),
            NAMES,
            part.title(),
            model.theme.style(tone),
        );
        let area = Rect {
            x: inside.x + NAMES,
            y,
            width: inside.width.saturating_sub(NAMES),
            height,
        };
        match part {
            Part::Summary => field(model, &form.summary, area, has_focus, buffer),
            Part::Context => field(model, &form.context, area, has_focus, buffer),
            Part::Branch => field(model, &form.branch, area, has_focus, buffer),
            Part::After => field(model, &form.after, area, has_focus, buffer),
            Part::Project | Part::Harness | Part::Workflow => {
                let chosen = match part {
                    Part::Project => &form.project,
                    Part::Harness => &form.harness,
                    _ => &form.workflow,
                };
                let default = form.default_of(part);
                draw_choice(model, chosen, default, area, has_focus, buffer);
            }
            Part::Start => {
                let text = if form.starts_later {
                    "later, with Enter"
                } else {
                    "as soon as possible"
                };
                draw_value(model, text, true, area, has_focus, buffer);
            }
        }
        let hint = match part {
            Part::Summary if form.summary.text().is_empty() && !has_focus => "what to do",
            Part::Branch if form.branch.text().is_empty() && !has_focus => "from the summary",
            Part::After if form.after.text().is_empty() && !has_focus => "no other task",
            _ => "",
        };
        put(
            buffer,
            (area.x, y),
            area.width,
            hint,
            model.theme.style(Tone::Dim),
        );
        y += height;
    }
}

fn draw_choice(
    model: &Model,
    choice: &Choice,
    default: &str,
    area: Rect,
    has_focus: bool,
    buffer: &mut Buffer,
) {
    let text = choice.chosen().unwrap_or(default);
    draw_value(
        model,
        text,
        choice.chosen().is_some(),
        area,
        has_focus,
        buffer,
    );
}

fn draw_value(
    model: &Model,
    text: &str,
    is_chosen: bool,
    area: Rect,
    has_focus: bool,
    buffer: &mut Buffer,
) {
    let text = if has_focus {
        format!("‹ {text} ›")
    } else {
        text.to_owned()
    };
    let tone = match (has_focus, is_chosen) {
        (true, _) => Tone::Strong,
        (false, true) => Tone::Plain,
        (false, false) => Tone::Dim,
    };
    put(
        buffer,
        (area.x, area.y),
        area.width,
        &text,
        model.theme.style(tone),
    );
}
