//! Handles the mouse, which can do nothing that keys cannot.

use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{browse, diff, press};
use crate::tui::buttons::buttons;
use crate::tui::keys::KeyAction;
use crate::tui::layout::{layout, shows_diff, tab_columns};
use crate::tui::model::Model;
use crate::tui::model::command::Command;
use crate::tui::model::detail::Tab;
use crate::tui::model::list::Line;
use crate::tui::model::mode::Mode;

pub(super) fn click(model: &mut Model, mouse: MouseEvent) -> Vec<Command> {
    let at = Position::new(mouse.column, mouse.row);
    let places = layout(model);
    let is_in = |area: Option<Rect>| area.is_some_and(|area| area.contains(at));
    let by = match mouse.kind {
        MouseEventKind::ScrollDown => 1,
        MouseEventKind::ScrollUp => -1,
        MouseEventKind::Down(MouseButton::Left) => 0,
        _ => return Vec::new(),
    };
    if by == 0 && places.footer.contains(at) {
        let all = buttons(model);
        let hit = all.into_iter().rev().find(|(column, _)| *column <= at.x);
        return match hit {
            Some((_, (_, _, (code, modifiers)))) => press(model, KeyEvent::new(code, modifiers)),
            None => Vec::new(),
        };
    }
    // An open popup covers everything else.
    if model.mode != Mode::Browse {
        return Vec::new();
    }
    if by != 0 && is_in(places.list) {
        return browse::perform(model, KeyAction::Go(by));
    }
    if by != 0 && is_in(places.detail) {
        return browse::perform(model, KeyAction::Scroll(by * 3));
    }
    if let (0, Some(area)) = (by, places.tabs.filter(|area| area.contains(at)))
        && let Some(tab) = tab_at(at.x - area.x)
    {
        return browse::perform(model, KeyAction::Tab(tab));
    }
    if let (0, Some(area), true) = (
        by,
        places.detail.filter(|area| area.contains(at)),
        shows_diff(model),
    ) {
        diff::point_at(model, at.y - area.y);
        return Vec::new();
    }
    if let (0, Some(area)) = (by, places.list.filter(|area| area.contains(at))) {
        let line = model.list.top + usize::from(at.y - area.y);
        let hit = match model.list.lines().get(line) {
            Some(Line::Task(id)) => Some(id.clone()),
            _ => None,
        };
        if let Some(id) = hit {
            model.list.select(&id);
        }
    }
    Vec::new()
}

fn tab_at(column: u16) -> Option<Tab> {
    let before = tab_columns().filter(|(at, _)| *at <= column);
    before.last().map(|(_, tab)| tab)
}
