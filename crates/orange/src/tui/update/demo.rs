//! Leads the user through the demo.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::tui::model::Model;
use crate::tui::model::command::Command;
use crate::tui::model::mode::Mode;

/// Keeps the first task of the list selected until the user does something. When every task of the
/// demo is merged, cancelled or deleted, says that the demo is over.
pub(super) fn lead(model: &mut Model) {
    let Some(demo) = model.demo.as_mut().filter(|_| model.mode == Mode::Browse) else {
        return;
    };
    if !demo.is_begun {
        model.list.move_selection(isize::MIN);
    }
    if !demo.is_end_shown && demo.is_over(&model.list) {
        demo.is_end_shown = true;
        model.mode = Mode::DemoOver;
    }
}

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    match key.code {
        KeyCode::Char('q') => return vec![Command::Quit],
        KeyCode::Esc | KeyCode::Enter => model.mode = Mode::Browse,
        _ => {}
    }
    Vec::new()
}
