//! Draws the model; changes nothing and does no I/O.

mod demo;
mod detail;
mod diff;
mod form;
mod help;
mod list;
mod permission;
mod popup;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::buttons::buttons;
use super::fit::put;
use super::layout::layout;
use super::model::entry::Entry;
use super::model::mode::Mode;
use super::model::{Model, Supervision};
use super::theme::Tone;
use crate::output::display_width;

pub use help::help_height;
pub use permission::extent as permission_extent;

pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    // If the terminal has just become smaller, draw nothing: the model learns the new size in a
    // moment.
    if area.width >= model.width && area.height >= model.height {
        draw_on(model, area, frame.buffer_mut());
    }
}

pub fn draw_on(model: &Model, area: Rect, buffer: &mut Buffer) {
    let places = layout(model);
    header(model, places.header, buffer);
    if let Some(area) = places.list {
        if model.list.lines().is_empty() {
            list::draw_empty(model, area, buffer);
        } else {
            list::draw(model, area, buffer);
        }
    }
    if let (Some(list), Some(tabs)) = (places.list, places.tabs)
        && tabs.x > list.right()
    {
        let style = model.theme.style(Tone::Dim);
        for y in list.top()..list.bottom() {
            put(buffer, (list.right(), y), 1, "│", style);
        }
    }
    if let (Some(tabs), Some(area)) = (places.tabs, places.detail) {
        detail::draw_tabs(model, tabs, buffer);
        detail::draw(model, area, buffer);
    }
    status(model, places.status, buffer);
    footer(model, places.footer, buffer);
    match &model.mode {
        Mode::Browse | Mode::Search(_) => {}
        Mode::Help(scroll) => help::draw(model, *scroll, area, buffer),
        Mode::DemoOver => demo::draw(model, area, buffer),
        Mode::Create(form) => form::draw(model, form, area, buffer),
        Mode::Permission(dialog) => permission::draw(model, dialog, area, buffer),
        mode => popup::draw(model, mode, area, buffer),
    }
}

fn header(model: &Model, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    let place = match (&model.list.project, model.list.shows_all_projects) {
        (Some(here), false) => here.to_string(),
        _ => String::from("all projects"),
    };
    let mut x = area.x + 1;
    x += put(buffer, (x, area.y), 8, "orange", theme.style(Tone::Strong)) + 1;
    let room = area.width / 3;
    x += put(buffer, (x, area.y), room, &place, theme.style(Tone::Plain)) + 2;
    let [needs, running, rest] = model.list.counts();
    let tone = if needs > 0 { Tone::Warn } else { Tone::Dim };
    let verb = if needs == 1 { "needs you" } else { "need you" };
    let parts = [
        (tone, format!("{needs} {verb}")),
        (Tone::Good, format!("{running} running")),
        (Tone::Dim, format!("{rest} queued")),
    ];
    let marked = match model.list.marked().len() {
        0 => None,
        count => Some((Tone::Key, format!("{count} marked"))),
    };
    for (tone, text) in marked.into_iter().chain(parts) {
        let left = area.right().saturating_sub(x);
        x += put(buffer, (x, area.y), left, &text, theme.style(tone)) + 2;
    }
    let (tone, supervision) = match (&model.list_error, model.supervision) {
        (Some(_), _) => (Tone::Bad, "! list may be stale"),
        (None, Supervision::Here) => (Tone::Dim, "supervising"),
        (None, Supervision::Elsewhere) => (Tone::Dim, "supervised"),
        (None, Supervision::Absent) => (Tone::Warn, "no supervisor"),
    };
    let width = u16::try_from(display_width(supervision)).unwrap_or(0);
    let total = model.list.usage();
    let short = total.short();
    let used = match short.strip_prefix("? ") {
        Some(time) => format!("used unknown {time}"),
        None => format!("used {short}"),
    };
    let used_width = u16::try_from(display_width(&used)).unwrap_or(u16::MAX);
    let taken = x.saturating_add(used_width).saturating_add(width + 3);
    if total.runs > 0 && taken < area.right() {
        x += put(
            buffer,
            (x, area.y),
            used_width,
            &used,
            theme.style(Tone::Dim),
        ) + 2;
    }
    if x + width < area.right() {
        let at = area.right() - width - 1;
        put(buffer, (at, area.y), width, supervision, theme.style(tone));
    }
}

/// Draws the notice, the search, or what is being done.
fn status(model: &Model, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    let at = (area.x + 1, area.y);
    let width = area.width.saturating_sub(2);
    if let Mode::Search(field) = &model.mode {
        let taken = put(buffer, at, width, "/", theme.style(Tone::Key));
        let text = field.text();
        put(
            buffer,
            (at.0 + taken, at.1),
            width,
            text,
            theme.style(Tone::Plain),
        );
        let column = u16::try_from(field.cursor_position().1).unwrap_or(u16::MAX);
        cursor(
            buffer,
            (at.0.saturating_add(taken).saturating_add(column), at.1),
            theme.style(Tone::Chosen),
        );
        return;
    }
    let (tone, text) = if let Some(error) = &model.list_error {
        (Tone::Bad, error.clone())
    } else if let Some(notice) = &model.notice {
        (notice.tone, notice.text.clone())
    } else if let Some(last) = model.pending.last() {
        let more = match model.pending.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let message = last.action.description();
        if last.is_blocked {
            let why = "waits: another process is writing to the database";
            (Tone::Warn, format!("{message}{more} {why} …"))
        } else {
            (Tone::Dim, format!("{message}{more} …"))
        }
    } else if !model.list.search.is_empty() {
        (Tone::Key, format!("/{}  (Esc clears)", model.list.search))
    } else if let Some(text) = marks(model) {
        (Tone::Key, text)
    } else {
        return;
    };
    put(buffer, at, width, &text, theme.style(tone));
}

/// Says how many tasks are marked, and how many of them are not in the list.
fn marks(model: &Model) -> Option<String> {
    let marked = model.list.marked();
    let is_shown = |entry: &&&Entry| model.list.shown_tasks().any(|it| *it == entry.row.id);
    let hidden = marked.len() - marked.iter().filter(is_shown).count();
    let tasks = match marked.len() {
        0 => return None,
        1 => String::from("1 task is marked"),
        count => format!("{count} tasks are marked"),
    };
    let hidden = match hidden {
        0 => String::new(),
        hidden => format!(", {hidden} of them not in the list now"),
    };
    Some(format!(
        "* {tasks}{hidden}; a key acts on all of them, Esc clears the marks"
    ))
}

fn footer(model: &Model, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    for (column, (key, label, _)) in buttons(model) {
        let x = area.x + column;
        let left = area.right().saturating_sub(x);
        let taken = put(buffer, (x, area.y), left, &key, theme.style(Tone::Key));
        let left = left.saturating_sub(taken + 1);
        let at = (x + taken + 1, area.y);
        put(buffer, at, left, &label, theme.style(Tone::Plain));
    }
}

/// Shows the cursor of a text field or of an agent's terminal.
fn cursor(buffer: &mut Buffer, (x, y): (u16, u16), style: ratatui::style::Style) {
    if buffer.area.contains(ratatui::layout::Position::new(x, y)) {
        buffer[(x, y)].set_style(style);
    }
}
