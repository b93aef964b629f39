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

/// Stores the requests that wait now. If the request in the open box is not among them, marks the
/// box as over.
pub(super) fn receive(model: &mut Model, mut waiting: BTreeMap<TaskId, Vec<PermissionRequest>>) {
    if let Mode::Permission(dialog) = &mut model.mode {
        let mut of_task = waiting.get(&dialog.task).into_iter().flatten();
        dialog.is_over = !of_task.any(|it| it.id == dialog.request.id);
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
    if let Mode::Permission(dialog) = &model.mode {
        let (lines, height) = permission_extent(model, dialog);
        let last = lines.saturating_sub(height);
        if let Mode::Permission(dialog) = &mut model.mode {
            dialog.scroll = dialog.scroll.min(last);
            dialog.is_read |= height > 0 && dialog.scroll >= last;
        }
    }
}

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Permission(dialog) = &model.mode else {
        return Vec::new();
    };
    let (_, height) = permission_extent(model, dialog);
    let page = height.saturating_sub(1).max(1);
    let mut dialog = dialog.clone();
    let code = match (key.code, key.modifiers.difference(KeyModifiers::SHIFT)) {
        (code, KeyModifiers::NONE) => code,
        // These keys scroll in other views, so they scroll here too: Ctrl-D must not deny.
        (KeyCode::Char('d'), KeyModifiers::CONTROL) => KeyCode::PageDown,
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => KeyCode::PageUp,
        _ => return Vec::new(),
    };
    match code {
        KeyCode::Esc | KeyCode::Char('q') => {
            model.mode = Mode::Browse;
            return Vec::new();
        }
        KeyCode::Down | KeyCode::Char('j') => dialog.scroll += 1,
        KeyCode::Up | KeyCode::Char('k') => dialog.scroll = dialog.scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => dialog.scroll += page,
        KeyCode::PageUp => dialog.scroll = dialog.scroll.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => dialog.scroll = 0,
        KeyCode::Enter if !dialog.is_over => {
            model.mode = Mode::Browse;
            model.list.select(&dialog.task);
            return browse::enter(model);
        }
        // A command can be allowed only after its end has been on the screen.
        KeyCode::Char('a') if dialog.is_read && !dialog.is_over => {
            return answer(model, dialog, true);
        }
        KeyCode::Char('d') if !dialog.is_over => return answer(model, dialog, false),
        _ => return Vec::new(),
    }
    model.mode = Mode::Permission(dialog);
    Vec::new()
}

fn answer(model: &mut Model, dialog: PermissionBox, is_allowed: bool) -> Vec<Command> {
    model.mode = Mode::Browse;
    // Remove the request at once; the gatherer confirms that a moment later.
    if let Some(entry) = model.list.entry_mut(&dialog.task) {
        entry.requests.retain(|it| it.id != dialog.request.id);
    }
    model.list.arrange();
    let action = Action::Permit {
        task: dialog.task,
        request: dialog.request.id,
        is_allowed,
    };
    start_action(model, action)
}
