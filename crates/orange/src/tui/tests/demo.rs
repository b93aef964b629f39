//! The demo: where it begins, and its end.

use orange_driver::{ListChange, TaskRow};
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use ratatui::crossterm::event::KeyCode;

use super::sample::{key, model, press, rows};
use crate::tui::model::Model;
use crate::tui::model::command::Command;
use crate::tui::model::demo::Demo;
use crate::tui::model::message::Message;
use crate::tui::model::mode::Mode;
use crate::tui::update::update;

fn demo() -> Model {
    let mut model = model();
    model.demo = Some(Demo::new(&["k3f9", "w0rk"].map(TaskId::new)));
    model
}

fn change(model: &mut Model, rows: Vec<TaskRow>) {
    let change = ListChange {
        sequence: 8,
        is_whole: false,
        rows,
        gone: Vec::new(),
    };
    update(model, Message::Changed(change));
}

/// A task of the sample, with its kind changed.
fn task(id: &str, kind: Kind) -> TaskRow {
    let mut rows = rows().into_iter();
    let mut row = rows.find(|row| row.id.as_str() == id).unwrap();
    row.kind = Some(kind);
    row.attention.clear();
    row
}

fn selected(model: &Model) -> &str {
    model.list.selected().unwrap().row.id.as_str()
}

#[test]
fn the_task_that_needs_the_user_is_selected_until_the_user_does_something() {
    let mut model = demo();
    let waiting = ["k3f9", "p2mm", "t0rn"].map(|id| task(id, Kind::Queued));
    change(&mut model, waiting.to_vec());
    assert_eq!(selected(&model), "w0rk", "only this one runs");
    change(&mut model, vec![task("p2mm", Kind::Human)]);
    assert_eq!(selected(&model), "p2mm");
    press(&mut model, key(KeyCode::Down));
    let chosen = selected(&model).to_owned();
    change(&mut model, vec![task("k3f9", Kind::Human)]);
    assert_eq!(selected(&model), chosen);
}

#[test]
fn the_end_of_the_demo_is_shown_once_and_interrupts_nothing() {
    let mut model = demo();
    change(&mut model, vec![task("k3f9", Kind::Terminal)]);
    assert_eq!(model.mode, Mode::Browse);
    press(&mut model, key(KeyCode::Char('/')));
    change(&mut model, vec![task("w0rk", Kind::Terminal)]);
    assert!(matches!(model.mode, Mode::Search(_)));
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(model.mode, Mode::DemoOver);
    let mut leaving = model.clone();
    let commands = press(&mut leaving, key(KeyCode::Char('q')));
    assert_eq!(commands, [Command::Quit]);
    press(&mut model, key(KeyCode::Esc));
    change(&mut model, vec![task("p2mm", Kind::Queued)]);
    assert_eq!(model.mode, Mode::Browse, "it is shown once");
}
