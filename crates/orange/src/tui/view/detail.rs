//! Draws the view of the selected task.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;

use super::{cursor, diff};
use crate::tui::fit::{fold, put};
use crate::tui::layout::tab_columns;
use crate::tui::model::Model;
use crate::tui::model::detail::{Content, Screen, Tab};
use crate::tui::model::entry::{EnterAction, Entry};
use crate::tui::theme::Tone;

/// Draws the tabs, and which task they belong to.
pub(super) fn draw_tabs(model: &Model, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    let dim = theme.style(Tone::Dim);
    put(
        buffer,
        (area.x, area.y),
        area.width,
        &"─".repeat(area.width.into()),
        dim,
    );
    let mut end = area.x;
    for (column, tab) in tab_columns() {
        let style = if tab == model.detail.tab {
            theme.style(Tone::Chosen)
        } else {
            theme.style(Tone::Plain)
        };
        // The line drawn underneath is dim; a name is not.
        let style = style.remove_modifier(Modifier::DIM);
        let x = area.x + column;
        let text = format!("{} {}", tab as usize + 1, tab.title());
        let room = area.right().saturating_sub(x);
        end = x + put(buffer, (x, area.y), room, &text, style);
    }
    if let Some(entry) = model.list.selected() {
        let title = match model.detail.content() {
            Content::Screen(screen) if !screen.caption.is_empty() => {
                format!(" {} {} ", entry.row.id, screen.caption)
            }
            _ => format!(" {} ", entry.row.id),
        };
        let width = u16::try_from(crate::output::display_width(&title)).unwrap_or(u16::MAX);
        if end + width + 2 < area.right() {
            let at = (area.right() - width - 1, area.y);
            let style = theme.style(Tone::Strong).remove_modifier(Modifier::DIM);
            put(buffer, at, width, &title, style);
        }
    }
}

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let scroll = model.detail.scroll();
    match model.detail.content() {
        Content::Pending => draw_text(model, "loading …", area, buffer),
        Content::Nothing(why) => match start_hint(model) {
            Some(hint) => draw_text(model, &format!("{why}\n{hint}"), area, buffer),
            None => draw_text(model, why, area, buffer),
        },
        Content::Screen(screen) if screen.is_running => {
            draw_screen(model, screen, scroll, area, buffer);
        }
        Content::Screen(screen) => draw_last_screen(model, screen, scroll, area, buffer),
        Content::Lines(lines) => {
            let shown = lines.iter().skip(scroll).take(area.height.into());
            for (y, line) in (area.y..).zip(shown) {
                buffer.set_line(area.x + 1, y, line, area.width.saturating_sub(1));
            }
        }
        Content::Files(_) => diff::draw(model, area, buffer),
    }
}

/// Draws what an agent left on its screen, how it ended, and how to start it again.
fn draw_last_screen(
    model: &Model,
    screen: &Screen,
    scroll: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let hint = start_hint(model).unwrap_or_default();
    let is_stopped = model.list.selected().is_some_and(Entry::is_stopped);
    let end = if is_stopped {
        "You stopped the agent"
    } else {
        "The agent has exited"
    };
    if screen.lines.iter().all(is_blank) {
        let text = format!("{end}. It left nothing on its screen.\n{hint}");
        return draw_text(model, &text, area, buffer);
    }
    let last = Rect {
        y: area.bottom().saturating_sub(1),
        height: area.height.min(1),
        ..area
    };
    let rest = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    draw_screen(model, screen, scroll, rest, buffer);
    draw_text(model, &format!("{end}. {hint}"), last, buffer);
}

/// How to start an agent for the selected task, while its terminal is shown.
fn start_hint(model: &Model) -> Option<&'static str> {
    let entry = model.list.selected();
    let entry = entry.filter(|_| model.detail.tab == Tab::Terminal)?;
    match entry.enter_action() {
        EnterAction::Spawn => Some("Enter starts the work."),
        EnterAction::Respawn => Some("Enter starts it again."),
        EnterAction::Attach | EnterAction::View => None,
    }
}

fn is_blank(line: &Line<'_>) -> bool {
    line.spans.iter().all(|it| it.content.trim().is_empty())
}

fn draw_text(model: &Model, text: &str, area: Rect, buffer: &mut Buffer) {
    let style = model.theme.style(Tone::Dim);
    let lines = fold(text, area.width.saturating_sub(2).into());
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        put(buffer, (area.x + 1, y), area.width, &line, style);
    }
}

/// Draws the end of an agent's screen, as much as there is room for.
fn draw_screen(model: &Model, screen: &Screen, scroll: usize, area: Rect, buffer: &mut Buffer) {
    let blank = screen
        .lines
        .iter()
        .rev()
        .take_while(|it| it.width() == 0)
        .count();
    let cursor_line = screen.cursor.map(|(_, line)| usize::from(line));
    let end = screen.lines.len() - blank;
    let end = cursor_line
        .map_or(end, |line| end.max(line + 1))
        .min(screen.lines.len());
    let height = usize::from(area.height);
    let scroll = scroll.min(end.saturating_sub(height));
    let start = (end - scroll).saturating_sub(height);
    for (y, line) in (area.y..area.bottom()).zip(&screen.lines[start..end - scroll]) {
        buffer.set_line(area.x, y, line, area.width);
    }
    if let (Some((column, line)), 0) = (screen.cursor, scroll)
        && usize::from(line) >= start
        && column < area.width
    {
        let y = area.y + u16::try_from(usize::from(line) - start).unwrap_or(0);
        if y < area.bottom() {
            cursor(
                buffer,
                (area.x + column, y),
                model.theme.style(Tone::Chosen),
            );
        }
    }
    if scroll > 0 {
        let text = format!(" {scroll} lines up, J goes down ");
        let width = u16::try_from(text.len()).unwrap_or(0).min(area.width);
        let at = (area.right() - width, area.bottom().saturating_sub(1));
        put(buffer, at, width, &text, model.theme.style(Tone::Chosen));
    }
}
