//! The box about a request for permission.

use std::collections::BTreeMap;

use orange_engine::names::{RequestId, TaskId};
use orange_engine::permission::PermissionRequest;
use ratatui::crossterm::event::KeyCode;

use super::sample::{choose, control, key, model, now, press};
use crate::tui::buttons::footer;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::list::Zone;
use crate::tui::model::message::Message;
use crate::tui::model::mode::Mode;
use crate::tui::update::update;

pub fn request(id: &str, command: &str) -> PermissionRequest {
    PermissionRequest {
        id: RequestId::new(id),
        tool: String::from("Bash"),
        command: command.to_owned(),
        directory: Some(String::from("/home/me/orange/workspaces/app--1")),
        asked_at: now(),
        until: now(),
    }
}

pub fn receive(model: &mut Model, requests: Vec<PermissionRequest>) {
    let waiting = match requests.as_slice() {
        [] => BTreeMap::new(),
        _ => BTreeMap::from([(TaskId::new("w0rk"), requests)]),
    };
    update(model, Message::Requests(waiting));
}

fn labels(model: &Model) -> Vec<String> {
    let buttons = footer(model).into_iter();
    buttons
        .map(|(key, label, _)| format!("{key} {label}"))
        .collect()
}

fn permit(request: &str, is_allowed: bool) -> Action {
    Action::Permit {
        task: TaskId::new("w0rk"),
        request: RequestId::new(request),
        is_allowed,
    }
}

#[test]
fn a_request_moves_its_task_and_is_answered_with_one_key() {
    for (letter, is_allowed) in [('a', true), ('d', false)] {
        let mut model = model();
        choose(&mut model, "w0rk");
        assert_eq!(press(&mut model, key(KeyCode::Char('p'))), []);
        assert_eq!(model.mode, Mode::Browse, "nothing is asked");
        receive(
            &mut model,
            vec![request("one111", "git push"), request("two222", "make")],
        );
        assert_eq!(model.list.selected().unwrap().zone(), Zone::NeedsYou);
        assert_eq!(labels(&model)[0], "p permission");
        press(&mut model, key(KeyCode::Char('p')));
        assert_eq!(labels(&model)[0], "a allow once");
        let commands = press(&mut model, key(KeyCode::Char(letter)));
        assert_eq!(commands, [Command::Act(1, permit("one111", is_allowed))]);
        assert_eq!(model.mode, Mode::Browse);
    }
}

#[test]
fn a_long_command_can_be_allowed_only_after_its_end_was_shown() {
    let mut model = model();
    update(&mut model, Message::Resized(80, 24));
    choose(&mut model, "w0rk");
    let long = "echo\n".repeat(40) + "rm -rf x";
    receive(&mut model, vec![request("one111", &long)]);
    press(&mut model, key(KeyCode::Char('p')));
    for pressed in [key(KeyCode::Char('a')), control('a'), control('d')] {
        assert_eq!(press(&mut model, pressed), []);
    }
    assert!(matches!(model.mode, Mode::Permission(_)));
    assert!(!labels(&model).iter().any(|it| it.contains("allow")));
    for _ in 0..2 {
        press(&mut model, key(KeyCode::Char(' ')));
    }
    assert_eq!(labels(&model)[0], "a allow once");
    // What was read stays read.
    press(&mut model, key(KeyCode::Char('g')));
    let commands = press(&mut model, key(KeyCode::Char('a')));
    assert_eq!(commands, [Command::Act(1, permit("one111", true))]);
}

#[test]
fn a_request_that_is_gone_cannot_be_answered() {
    let mut model = model();
    choose(&mut model, "w0rk");
    receive(&mut model, vec![request("one111", "git push")]);
    press(&mut model, key(KeyCode::Char('p')));
    // Another request takes its place: the box does not change under the user's hands.
    receive(&mut model, vec![request("two222", "rm -rf x")]);
    for code in [KeyCode::Char('a'), KeyCode::Char('d'), KeyCode::Enter] {
        assert_eq!(press(&mut model, key(code)), []);
    }
    let Mode::Permission(shown) = &model.mode else {
        panic!("{:?}", model.mode)
    };
    assert!(shown.is_over);
    assert_eq!(shown.request.command, "git push");
    assert_eq!(labels(&model), ["Esc back"]);
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(model.mode, Mode::Browse);
}

#[test]
fn enter_opens_the_terminal() {
    let mut model = model();
    choose(&mut model, "w0rk");
    receive(&mut model, vec![request("one111", "git push")]);
    press(&mut model, key(KeyCode::Char('p')));
    let commands = press(&mut model, key(KeyCode::Enter));
    assert_eq!(commands, [Command::Attach(TaskId::new("w0rk"))]);
}
