//! The box about a request for permission.

use std::collections::BTreeMap;

use orange_engine::names::TaskId;
use orange_engine::permission::PermissionRequest;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{browse, start_action};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::mode::{Mode, PermissionBox};
use crate::tui::view::permission_extent;

/// Shows the oldest request of the selected task.
pub(super) fn open(model: &mut Model) {
    let Some(entry) = model.list.selected() else {
        return;
    };
    if let Some(request) = entry.requests.first() {
        model.mode = Mode::Permission(PermissionBox {
            task: entry.row.id.clone(),
            request: request.clone(),
            scroll: 0,
            is_read: false,
            is_over: false,
        });
    }
}

/// Takes over what waits now; an open box about something else says so.
pub(super) fn receive(model: &mut Model, mut waiting: BTreeMap<TaskId, Vec<PermissionRequest>>) {
    if let Mode::Permission(shown) = &mut model.mode {
        let mut of_task = waiting.get(&shown.task).into_iter().flatten();
        shown.is_over = !of_task.any(|it| it.id == shown.request.id);
    }
    let mut has_moved = false;
    for entry in model.list.entries_mut() {
        let before = entry.zone();
        entry.requests = waiting.remove(&entry.row.id).unwrap_or_default();
        has_moved |= entry.zone() != before;
    }
    if has_moved {
        model.list.arrange();
    }
}

/// Notes that the whole request has been on the screen.
pub(super) fn mark_read(model: &mut Model) {
    if let Mode::Permission(shown) = &model.mode {
        let (lines, height) = permission_extent(model, shown);
        let last = lines.saturating_sub(height);
        if let Mode::Permission(shown) = &mut model.mode {
            shown.scroll = shown.scroll.min(last);
            shown.is_read |= height > 0 && shown.scroll >= last;
        }
    }
}

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Permission(shown) = &model.mode else {
        return Vec::new();
    };
    let (_, height) = permission_extent(model, shown);
    let page = height.saturating_sub(1).max(1);
    let mut shown = shown.clone();
    let code = match (key.code, key.modifiers.difference(KeyModifiers::SHIFT)) {
        (code, KeyModifiers::NONE) => code,
        // These scroll elsewhere, and must not be a denial here.
        (KeyCode::Char('d'), KeyModifiers::CONTROL) => KeyCode::PageDown,
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => KeyCode::PageUp,
        _ => return Vec::new(),
    };
    match code {
        KeyCode::Esc | KeyCode::Char('q') => {
            model.mode = Mode::Browse;
            return Vec::new();
        }
        KeyCode::Down | KeyCode::Char('j') => shown.scroll += 1,
        KeyCode::Up | KeyCode::Char('k') => shown.scroll = shown.scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => shown.scroll += page,
        KeyCode::PageUp => shown.scroll = shown.scroll.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => shown.scroll = 0,
        KeyCode::Enter if !shown.is_over => {
            model.mode = Mode::Browse;
            model.list.select(&shown.task);
            return browse::enter(model);
        }
        // A command can be allowed only after its end has been on the screen.
        KeyCode::Char('a') if shown.is_read && !shown.is_over => {
            return answer(model, shown, true);
        }
        KeyCode::Char('d') if !shown.is_over => return answer(model, shown, false),
        _ => return Vec::new(),
    }
    model.mode = Mode::Permission(shown);
    Vec::new()
}

fn answer(model: &mut Model, shown: PermissionBox, is_allowed: bool) -> Vec<Command> {
    model.mode = Mode::Browse;
    // The next request is there at once; the gatherer confirms it in a moment.
    if let Some(entry) = model.list.entry_mut(&shown.task) {
        entry.requests.retain(|it| it.id != shown.request.id);
    }
    model.list.arrange();
    let action = Action::Permit {
        task: shown.task,
        request: shown.request.id,
        is_allowed,
    };
    start_action(model, action)
}
