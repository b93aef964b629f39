//! The keys of the diff.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::keys::{KeyAction, Table, keys};
use super::model::Model;

/// Adds the keys that move in the diff while the list is not on screen. Otherwise the same keys
/// move in the list.
pub(super) fn add_movement(table: &mut Table) {
    let far = isize::MAX;
    for (keys, key_label, label, action) in [
        (
            keys![KeyCode::Char('j'), KeyCode::Down],
            "j",
            "line down",
            KeyAction::Line(1),
        ),
        (
            keys![KeyCode::Char('k'), KeyCode::Up],
            "k",
            "line up",
            KeyAction::Line(-1),
        ),
        (
            keys![KeyCode::Char('g'), KeyCode::Home],
            "g",
            "first line",
            KeyAction::Line(-far),
        ),
        (
            keys![KeyCode::Char('G'), KeyCode::End],
            "G",
            "last line",
            KeyAction::Line(far),
        ),
        (
            keys![KeyCode::PageDown],
            "PgDn",
            "page down",
            KeyAction::DiffPage(1),
        ),
        (
            keys![KeyCode::PageUp],
            "PgUp",
            "page up",
            KeyAction::DiffPage(-1),
        ),
    ] {
        table.add(keys, key_label, label, action, None);
    }
}

pub(super) fn add(model: &Model, table: &mut Table) {
    let keys = keys![KeyCode::Char('c')];
    let priority = model.detail.has_commentable_file().then_some(7);
    table.add(keys, "c", "comment", KeyAction::Comment, priority);
    let keys = keys![KeyCode::Char('s')];
    table.add(keys, "s", "select lines", KeyAction::Select, None);
    for (keys, key_label, label, by) in [
        (
            &[(KeyCode::Down, KeyModifiers::SHIFT)] as &[_],
            "S-↓",
            "select down",
            1,
        ),
        (
            &[(KeyCode::Up, KeyModifiers::SHIFT)],
            "S-↑",
            "select up",
            -1,
        ),
    ] {
        table.add(keys, key_label, label, KeyAction::SelectLine(by), None);
    }
    let keys = keys![KeyCode::Char('V')];
    table.add(keys, "V", "viewed", KeyAction::Viewed, Some(6));
    let keys = keys![KeyCode::Char(']')];
    table.add(keys, "]", "next file", KeyAction::File(true), Some(4));
    let keys = keys![KeyCode::Char('[')];
    table.add(keys, "[", "previous file", KeyAction::File(false), None);
    let keys = keys![KeyCode::Char('}')];
    table.add(keys, "}", "next hunk", KeyAction::Hunk(true), Some(3));
    let keys = keys![KeyCode::Char('{')];
    table.add(keys, "{", "previous hunk", KeyAction::Hunk(false), None);
    let keys = keys![KeyCode::Char(' ')];
    table.add(keys, "Space", "fold", KeyAction::Fold, Some(4));
    let keys = keys![KeyCode::Char('W')];
    if model.detail.diff.is_wrapped {
        table.add(keys, "W", "cut long lines", KeyAction::Wrap, None);
    } else {
        table.add(keys, "W", "wrap long lines", KeyAction::Wrap, None);
        let keys = keys![KeyCode::Right, KeyCode::Char('l')];
        table.add(keys, "→", "scroll right", KeyAction::Sideways(1), None);
        let keys = keys![KeyCode::Left, KeyCode::Char('h')];
        table.add(keys, "←", "scroll left", KeyAction::Sideways(-1), None);
    }
}
