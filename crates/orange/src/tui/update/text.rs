//! What keys do while the user types a text.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::start_action;
use crate::tui::model::Model;
use crate::tui::model::command::Command;
use crate::tui::model::field::Field;
use crate::tui::model::form::Part;
use crate::tui::model::mode::Mode;
use crate::tui::theme::Tone;

/// Types a key into a text; returns whether the key has a meaning there.
pub(super) fn type_into(field: &mut Field, key: KeyEvent, is_multiline: bool) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('w') if is_control => field.delete_word(),
        KeyCode::Char('u') if is_control => field.delete_line(),
        KeyCode::Char('a') if is_control => field.home(),
        KeyCode::Char(letter) if !is_control => {
            field.insert(letter.encode_utf8(&mut [0; 4]), is_multiline);
        }
        KeyCode::Enter if is_multiline => field.insert("\n", true),
        KeyCode::Backspace => field.backspace(),
        KeyCode::Delete => field.delete(),
        KeyCode::Left => field.left(),
        KeyCode::Right => field.right(),
        KeyCode::Home => field.home(),
        KeyCode::End => field.end(),
        KeyCode::Up if is_multiline => return field.up(),
        KeyCode::Down if is_multiline => return field.down(),
        _ => return false,
    }
    true
}

/// Whether a key submits the text.
pub(super) fn is_send_key(key: KeyEvent) -> bool {
    let is = |modifier| key.modifiers.contains(modifier);
    key.code == KeyCode::Char('s') && is(KeyModifiers::CONTROL)
        || key.code == KeyCode::Enter && is(KeyModifiers::ALT)
}

/// Whether a key opens the user's editor.
pub(super) fn is_editor_key(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('e') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Whether a key discards the text; `Esc` only closes it and keeps it as a draft.
pub(super) fn is_discard_key(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('x') && key.modifiers.contains(KeyModifiers::CONTROL)
}

pub(super) fn search(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Search(field) = &mut model.mode else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Esc => {
            model.list.search.clear();
            model.mode = Mode::Browse;
        }
        KeyCode::Enter => {
            model.mode = Mode::Browse;
            return Vec::new();
        }
        KeyCode::Down => {
            model.list.move_selection(1);
            return Vec::new();
        }
        KeyCode::Up => {
            model.list.move_selection(-1);
            return Vec::new();
        }
        _ => {
            type_into(field, key, false);
            model.list.search = field.text().to_owned();
        }
    }
    model.list.arrange();
    // The best match is most likely the one the user wants.
    if !model.list.search.is_empty() {
        model.list.select_best_match();
    }
    Vec::new()
}

pub(super) fn write(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Write(draft) = &mut model.mode else {
        return Vec::new();
    };
    if key.code == KeyCode::Esc {
        model.mode = Mode::Browse;
    } else if is_discard_key(key) {
        model.drafts.discard_message(&draft.action.draft_name());
        model.mode = Mode::Browse;
    } else if is_send_key(key) {
        if draft.text.is_blank() && !draft.is_optional {
            model.set_notice(Tone::Warn, "write something first, or close it with Esc");
            return Vec::new();
        }
        let action = draft.action.clone().with_message(draft.text.text());
        let action = action.with_review(&model.drafts);
        model.mode = Mode::Browse;
        return start_action(model, action);
    } else if is_editor_key(key) {
        return vec![Command::EditText(draft.text.text().to_owned())];
    } else {
        type_into(&mut draft.text, key, true);
    }
    Vec::new()
}

pub(super) fn comment(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Comment(draft) = &mut model.mode else {
        return Vec::new();
    };
    if key.code == KeyCode::Esc || is_send_key(key) {
        // The text is among the drafts already.
        model.mode = Mode::Browse;
    } else if is_discard_key(key) {
        let (task, place) = (draft.task.clone(), draft.place.clone());
        model
            .drafts
            .change_review(&task, |it| it.set_comment(&place, ""));
        model.mode = Mode::Browse;
    } else if is_editor_key(key) {
        return vec![Command::EditText(draft.text.text().to_owned())];
    } else {
        type_into(&mut draft.text, key, true);
    }
    Vec::new()
}

pub(super) fn paste(model: &mut Model, text: &str) -> Vec<Command> {
    match &mut model.mode {
        Mode::Search(field) => {
            field.insert(text, false);
            model.list.search = field.text().to_owned();
            model.list.arrange();
            model.list.select_best_match();
        }
        Mode::Palette(field, chosen) => {
            field.insert(text, false);
            *chosen = 0;
        }
        Mode::Write(draft) => draft.text.insert(text, true),
        Mode::Comment(draft) => draft.text.insert(text, true),
        Mode::Create(form) => {
            let is_multiline = form.focus.is_multiline();
            if let Some(field) = form.field() {
                field.insert(text, is_multiline);
            }
        }
        // Elsewhere, letters are keys, but pasted letters are not key presses: a pasted `m` must
        // not merge.
        _ => {}
    }
    Vec::new()
}

/// Takes over the text from the user's editor.
pub(super) fn replace(model: &mut Model, text: &str) {
    let text = Field::of(text.trim_end());
    match &mut model.mode {
        Mode::Write(draft) => draft.text = text,
        Mode::Comment(draft) => draft.text = text,
        Mode::Create(form) => {
            let (focus, one_line) = (form.focus, text.text().replace('\n', " "));
            if let Some(field) = form.field() {
                *field = match focus {
                    Part::Summary | Part::Context => text,
                    _ => Field::of(one_line),
                };
            }
        }
        _ => {}
    }
}
