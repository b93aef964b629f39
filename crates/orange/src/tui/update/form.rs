//! What keys do in the form for a new task.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::start_action;
use super::text::{is_discard_key, is_editor_key, is_send_key, type_into};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::form::Part;
use crate::tui::model::mode::Mode;
use crate::tui::theme::Tone;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Create(form) = &mut model.mode else {
        return Vec::new();
    };
    if is_send_key(key) {
        let draft = form.draft();
        if !draft.has_content() {
            form.focus = Part::Summary;
            let text = "nothing to create yet: describe the work in `summary`";
            model.set_notice(Tone::Warn, text);
            return Vec::new();
        }
        model.mode = Mode::Browse;
        return start_action(model, Action::Create(Box::new(draft)));
    }
    if is_discard_key(key) {
        model.drafts.discard_task();
        model.mode = Mode::Browse;
        model.set_notice(Tone::Dim, "the draft is discarded");
        return Vec::new();
    }
    if is_editor_key(key) {
        let text = form.field().map(|field| field.text().to_owned());
        return text.map(Command::EditText).into_iter().collect();
    }
    let is_multiline = form.focus.is_multiline();
    match key.code {
        KeyCode::Esc => model.mode = Mode::Browse,
        KeyCode::Tab => form.move_focus(1),
        KeyCode::BackTab => form.move_focus(-1),
        KeyCode::Enter if !is_multiline => form.move_focus(1),
        KeyCode::Left if form.choice().is_some() => step(form, -1),
        KeyCode::Right | KeyCode::Char(' ') if form.choice().is_some() => step(form, 1),
        KeyCode::Left | KeyCode::Right | KeyCode::Char(' ') if form.focus == Part::Start => {
            form.starts_later = !form.starts_later;
        }
        _ => {
            let is_handled = form
                .field()
                .is_some_and(|field| type_into(field, key, is_multiline));
            match key.code {
                KeyCode::Up if !is_handled => form.move_focus(-1),
                KeyCode::Down if !is_handled => form.move_focus(1),
                _ => {}
            }
        }
    }
    Vec::new()
}

fn step(form: &mut crate::tui::model::form::Form, by: isize) {
    if let Some(choice) = form.choice() {
        choice.step(by);
    }
}
