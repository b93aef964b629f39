//! What keys do in menus, questions and messages.

use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::next_step::NextStep;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::text::type_into;
use super::{browse, start_action};
use crate::tui::keys::matching_bindings;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::field::Field;
use crate::tui::model::list::Filter;
use crate::tui::model::mode::{Choice, MessageDraft, Mode, Question};
use crate::tui::theme::Tone;

/// Where a key moves the selection among `count` lines; `None` if the key does not move it.
fn step(key: KeyEvent, chosen: usize, count: usize) -> Option<usize> {
    let last = count.saturating_sub(1);
    match key.code {
        KeyCode::Down | KeyCode::Char('j') => Some((chosen + 1).min(last)),
        KeyCode::Up | KeyCode::Char('k') => Some(chosen.saturating_sub(1)),
        KeyCode::Home | KeyCode::Char('g') => Some(0),
        KeyCode::End | KeyCode::Char('G') => Some(last),
        _ => None,
    }
}

fn is_close_key(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Esc | KeyCode::Char('q'))
}

pub(super) fn palette(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Palette(field, chosen) = &model.mode else {
        return Vec::new();
    };
    let (mut field, mut chosen) = (field.clone(), *chosen);
    let matching = matching_bindings(model, field.text());
    match key.code {
        KeyCode::Esc => {
            model.mode = Mode::Browse;
            return Vec::new();
        }
        KeyCode::Enter => {
            model.mode = Mode::Browse;
            let action = matching.get(chosen).map(|it| it.action);
            return action.map_or(Vec::new(), |action| browse::perform(model, action));
        }
        KeyCode::Down => chosen = (chosen + 1).min(matching.len().saturating_sub(1)),
        KeyCode::Up => chosen = chosen.saturating_sub(1),
        _ => {
            if type_into(&mut field, key, false) {
                chosen = 0;
            }
        }
    }
    model.mode = Mode::Palette(field, chosen);
    Vec::new()
}

pub(super) fn moves(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Moves(chosen) = model.mode else {
        return Vec::new();
    };
    let ways: Vec<NextStep> = model
        .list
        .selected()
        .map_or(Vec::new(), |entry| entry.ways().cloned().collect());
    if is_close_key(key) {
        model.mode = Mode::Browse;
    } else if let Some(at) = step(key, chosen, ways.len()) {
        model.mode = Mode::Moves(at);
    } else if key.code == KeyCode::Enter {
        model.mode = Mode::Browse;
        if let Some(way) = ways.get(chosen) {
            return take_transition(model, way);
        }
    }
    Vec::new()
}

/// Takes a transition. First asks its question, or for its message, if it has one.
fn take_transition(model: &mut Model, way: &NextStep) -> Vec<Command> {
    let (Some(entry), Some(to)) = (model.list.selected(), &way.to) else {
        return Vec::new();
    };
    let id = entry.row.id.clone();
    for verb in [Verb::Merge, Verb::Cancel] {
        if way.verbs.contains(&verb) {
            return browse::request_verb(model, verb);
        }
    }
    let action = Action::ask(&id, RequestKind::Move { to: to.clone() });
    if let Some(question) = way.question() {
        model.mode = Mode::Confirm(Question {
            text: question.to_owned(),
            consequences: vec![format!("{id} moves to `{to}`.")],
            choices: vec![Choice::yes(action.with_confirmation())],
        });
    } else if way.accepts_message {
        model.mode = Mode::Write(MessageDraft {
            title: format!("What should the agent of {id} know in `{to}`?"),
            text: Field::of(model.drafts.message_for(&action)),
            action,
            explanation: Vec::new(),
            is_optional: true,
        });
    } else {
        return start_action(model, action);
    }
    Vec::new()
}

pub(super) fn filter(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Filter(chosen) = model.mode else {
        return Vec::new();
    };
    if is_close_key(key) {
        model.mode = Mode::Browse;
    } else if let Some(at) = step(key, chosen, Filter::ALL.len()) {
        model.mode = Mode::Filter(at);
    } else if key.code == KeyCode::Enter {
        model.list.filter = Filter::ALL[chosen.min(Filter::ALL.len() - 1)].0;
        model.mode = Mode::Browse;
        model.list.arrange();
    }
    Vec::new()
}

pub(super) fn workspaces(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Workspaces(found, chosen) = &mut model.mode else {
        return Vec::new();
    };
    let count = found.as_ref().map_or(0, Vec::len);
    if is_close_key(key) {
        model.mode = Mode::Browse;
    } else if let Some(at) = step(key, *chosen, count) {
        *chosen = at;
    } else if let (Some(all), KeyCode::Char('y') | KeyCode::Enter) = (found, key.code)
        && let Some(workspace) = all.get(*chosen)
    {
        let path = workspace.path.display().to_string();
        let task = workspace
            .task
            .clone()
            .filter(|_| key.code == KeyCode::Enter);
        if let Some(task) = task {
            model.mode = Mode::Browse;
            model.list.select(&task);
            return Vec::new();
        }
        model.set_notice(Tone::Dim, format!("copied {path}"));
        return vec![Command::Copy(path)];
    }
    Vec::new()
}

pub(super) fn confirm(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Confirm(question) = &model.mode else {
        return Vec::new();
    };
    match key.code {
        // Enter does not mean yes: the user may have pressed it for what was on screen a moment
        // ago.
        KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {
            model.mode = Mode::Browse;
            Vec::new()
        }
        KeyCode::Char(letter) => {
            let mut choices = question.choices.iter();
            let chosen = choices.find(|choice| choice.key == letter.to_ascii_lowercase());
            let Some(action) = chosen.map(|choice| choice.action.clone()) else {
                return Vec::new();
            };
            model.mode = Mode::Browse;
            start_action(model, action)
        }
        _ => Vec::new(),
    }
}

pub(super) fn help(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Help(scroll) = model.mode else {
        return Vec::new();
    };
    let lines = crate::tui::view::help_height(model);
    if is_close_key(key) || key.code == KeyCode::Char('?') {
        model.mode = Mode::Browse;
    } else if let Some(at) = step(key, scroll, lines) {
        model.mode = Mode::Help(at);
    }
    Vec::new()
}

pub(super) fn handle_alert_key(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let Mode::Alert(alert) = &model.mode else {
        return Vec::new();
    };
    if is_close_key(key) || key.code == KeyCode::Enter {
        model.mode = Mode::Browse;
    } else if let Some(offer) = &alert.offer
        && key.code == KeyCode::Char(offer.key)
    {
        let action = offer.action.clone();
        model.mode = Mode::Browse;
        return start_action(model, action);
    } else if key.code == KeyCode::Char('y') {
        let text = [alert.lines.clone(), alert.hints.clone()]
            .concat()
            .join("\n");
        model.set_notice(Tone::Dim, "copied");
        return vec![Command::Copy(text)];
    }
    Vec::new()
}
