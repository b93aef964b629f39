//! Every key in every mode, as tables for review.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use insta::assert_snapshot;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::permission::{receive, request};
use super::sample::{choose, control, diff_file, enter, glance, key, model, press};
use crate::tui::buttons::footer;
use crate::tui::keys::bindings;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::field::Field;
use crate::tui::model::message::Message;
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::model::review::Review;
use crate::tui::model::{Choices, Model};
use crate::tui::update::update;
use crate::tui::view::draw_on;

/// Every key that a terminal is likely to send.
fn every_key() -> Vec<KeyEvent> {
    let named = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::F(1),
    ];
    let letters = (' '..='~').map(KeyCode::Char);
    let plain = named.into_iter().chain(letters).map(key);
    let controls = ('a'..='z').map(control);
    let alt = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
    plain.chain(controls).chain([alt]).collect()
}

fn shown(key: KeyEvent) -> String {
    let code = match key.code {
        KeyCode::Char(letter) => format!("{letter:?}"),
        code => format!("{code:?}"),
    };
    match key.modifiers {
        KeyModifiers::NONE => code,
        modifiers => format!("{modifiers:?} {code}"),
    }
}

/// What a key has changed, in a line; `None` if nothing.
fn effect(before: &Model, key: KeyEvent) -> Option<String> {
    let mut after = before.clone();
    let commands = press(&mut after, key);
    let mut message = String::new();
    if after.mode != before.mode {
        let mode = format!("{:?}", after.mode);
        write!(message, " mode {mode}").unwrap();
    }
    let chosen = |model: &Model| model.list.selected().map(|it| it.row.id.to_string());
    if chosen(&after) != chosen(before) {
        write!(message, " chosen {}", chosen(&after).unwrap_or_default()).unwrap();
    }
    let view = |model: &Model| {
        let detail = &model.detail;
        let diff = &detail.diff;
        let folded = detail.files().iter().filter(|it| diff.is_folded(it));
        format!(
            "{} zoomed={} scroll={} row={} top={:?} folded={} wrapped={} column={}",
            detail.tab.title(),
            detail.is_zoomed,
            detail.scroll(),
            diff.cursor(),
            diff.top(),
            folded.count(),
            diff.is_wrapped,
            diff.column,
        )
    };
    if view(&after) != view(before) {
        write!(message, " view {}", view(&after)).unwrap();
    }
    let list = |model: &Model| {
        let list = &model.list;
        format!(
            "{:?} {:?} search={:?} everywhere={} by_project={}",
            list.filter, list.sort, list.search, list.shows_all_projects, list.by_project
        )
    };
    let marks = |model: &Model| model.list.marked().len();
    if marks(&after) != marks(before) {
        write!(message, " marked {}", marks(&after)).unwrap();
    }
    if list(&after) != list(before) {
        write!(message, " list {}", list(&after)).unwrap();
    }
    if after.notice != before.notice {
        let text = after.notice.as_ref().map_or("", |it| it.text.as_str());
        write!(message, " says {text:?}").unwrap();
    }
    if !commands.is_empty() {
        write!(message, " does {commands:?}").unwrap();
    }
    (!message.is_empty()).then(|| message.trim_start().to_owned())
}

/// One line per key that does something.
fn table(model: &Model) -> String {
    let mut table = String::new();
    for key in every_key() {
        if let Some(effect) = effect(model, key) {
            writeln!(table, "{}: {effect}", shown(key)).unwrap();
        }
    }
    table
}

/// The same while typing: every letter must type itself, so only the other keys are listed.
fn typing_table(model: &Model) -> String {
    let mut table = String::new();
    for key in every_key() {
        let is_letter = matches!(key.code, KeyCode::Char(_)) && key.modifiers.is_empty();
        if is_letter {
            assert!(effect(model, key).is_some(), "{key:?} types nothing");
        } else if let Some(effect) = effect(model, key) {
            writeln!(table, "{}: {effect}", shown(key)).unwrap();
        }
    }
    table
}

/// A model in some mode; `types` if letters are typed as text.
struct Sample {
    name: String,
    model: Model,
    types: bool,
}

/// Every mode, some of them more than once.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut add = |name: &str, model: &Model, types: bool| {
        samples.push(Sample {
            name: name.to_owned(),
            model: model.clone(),
            types,
        });
    };
    for id in ["k3f9", "p2mm", "t0rn", "w0rk", "q1q1"] {
        let mut model = model();
        choose(&mut model, id);
        add(&format!("browse_{id}"), &model, false);
    }
    add("browse_marked", &model_with_marks(), false);
    let mut ended = model();
    press(&mut ended, key(KeyCode::Char('f')));
    press(&mut ended, key(KeyCode::Char('G')));
    press(&mut ended, key(KeyCode::Enter));
    choose(&mut ended, "d0ne");
    ended.deleted.push(TaskId::new("gone"));
    add("browse_ended", &ended, false);
    ended.list.search = String::from("nothing like this");
    ended.list.arrange();
    add("browse_nothing", &ended, false);
    let mut diff = model_with_diff();
    add("browse_diff", &diff, false);
    press(&mut diff, key(KeyCode::Char('W')));
    press(&mut diff, key(KeyCode::Char('v')));
    press(&mut diff, key(KeyCode::Down));
    add("browse_diff_alone", &diff, false);
    press(&mut diff, key(KeyCode::Char('s')));
    press(&mut diff, key(KeyCode::Down));
    press(&mut diff, key(KeyCode::Char('c')));
    enter(&mut diff, "why");
    add("comment", &diff, true);

    let long = "a\n".repeat(25);
    for (name, command) in [("short", "git push"), ("long", long.as_str())] {
        let mut asked = model();
        choose(&mut asked, "w0rk");
        receive(&mut asked, vec![request("one111", command)]);
        if name == "short" {
            add("browse_asked", &asked, false);
        }
        press(&mut asked, key(KeyCode::Char('p')));
        add(&format!("permission_{name}"), &asked, false);
    }

    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('x')));
    assert!(matches!(model.mode, Mode::Confirm(_)));
    add("confirm", &model, false);
    model.mode = Mode::Help(3);
    add("help", &model, false);
    model.mode = Mode::Alert(Alert {
        title: String::from("t"),
        lines: vec![String::from("why")],
        hints: vec![String::from("how")],
        offer: None,
    });
    add("told", &model, false);
    model.mode = Mode::DemoOver;
    add("demo_over", &model, false);
    for (name, letter) in [("moves", 't'), ("filter", 'f'), ("workspaces", 'w')] {
        model.mode = Mode::Browse;
        press(&mut model, key(KeyCode::Char(letter)));
        press(&mut model, key(KeyCode::Char('j')));
        add(name, &model, false);
    }
    model.mode = Mode::Palette(Field::of("m"), 1);
    add("palette", &model, true);
    model.mode = Mode::Browse;
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "fix log");
    add("search", &model, true);
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('r')));
    enter(&mut model, "two words");
    press(&mut model, key(KeyCode::Enter));
    enter(&mut model, "and more");
    press(&mut model, key(KeyCode::Left));
    add("write", &model, true);
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, "what");
    press(&mut model, key(KeyCode::Left));
    add("create_text", &model, true);
    let harnesses = vec![String::from("claude"), String::from("codex")];
    let choices = Choices {
        harnesses,
        ..Choices::default()
    };
    update(&mut model, Message::Choices(choices));
    for _ in 0..4 {
        press(&mut model, key(KeyCode::Tab));
    }
    add("create_choice", &model, false);
    samples
}

fn model_with_marks() -> Model {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char(' ')));
    press(&mut model, key(KeyCode::Char(' ')));
    model
}

fn model_with_diff() -> Model {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('3')));
    let file = |path: &str| diff_file(path, &"@@ 1\n+x\n+y\n".repeat(10));
    let files = Content::Files(vec![file("a"), file("b"), file("c")]);
    model.detail.set(Tab::Diff, files, &Review::default());
    press(&mut model, key(KeyCode::Char(']')));
    model
}

#[test]
fn what_each_key_does_in_each_mode() {
    for Sample { name, model, types } in samples() {
        let table = if types {
            typing_table(&model)
        } else {
            table(&model)
        };
        assert_snapshot!(name, table);
    }
}

/// The modes are read from their source, so that a new one fails here until it has a sample.
#[test]
fn every_mode_is_tested() {
    let source = include_str!("../model/mode.rs");
    let (_, modes) = source.split_once("pub enum Mode {\n").unwrap();
    let (modes, _) = modes.split_once("\n}").unwrap();
    let declared = modes.lines().filter_map(|line| {
        let line = line.strip_prefix("    ")?;
        let is_name = line.starts_with(|it: char| it.is_ascii_uppercase());
        is_name.then(|| line.split([',', '(', ' ']).next().unwrap().to_owned())
    });
    let declared: BTreeSet<String> = declared.collect();
    let tried = samples().into_iter().map(|sample| {
        let mode = format!("{:?}", sample.model.mode);
        mode.split('(').next().unwrap().to_owned()
    });
    let tried: BTreeSet<String> = tried.collect();
    assert_eq!(declared, tried);
    assert!(declared.len() > 10, "{declared:?}");
}

#[test]
fn every_key_in_every_mode_can_be_drawn_and_left() {
    for Sample { name, model, .. } in samples() {
        for pressed in every_key() {
            let text = format!("{name}: {}", shown(pressed));
            let mut after = model.clone();
            let commands = press(&mut after, pressed);
            match (pressed.code, pressed.modifiers) {
                (KeyCode::Char('c'), KeyModifiers::CONTROL) => {
                    assert_eq!(commands, [Command::Quit], "{text}");
                }
                (KeyCode::Char('z'), KeyModifiers::CONTROL) => {
                    assert_eq!(commands, [Command::Suspend], "{text}");
                }
                _ => {}
            }
            for (width, height) in [(80, 24), (20, 5)] {
                update(&mut after, Message::Resized(width, height));
                let area = Rect::new(0, 0, width, height);
                draw_on(&after, area, &mut Buffer::empty(area));
            }
            let mut escapes = 0;
            while after.mode != Mode::Browse {
                escapes += 1;
                assert!(escapes < 3, "{text} cannot be left: {:?}", after.mode);
                press(&mut after, key(KeyCode::Esc));
            }
        }
    }
}

#[test]
fn the_footer_shows_what_keys_do_and_nothing_else() {
    for Sample { name, model, .. } in samples() {
        for (_, label, (code, modifiers)) in footer(&model) {
            let pressed = KeyEvent::new(code, modifiers);
            // The selection may already be at the end.
            let is_done = matches!(code, KeyCode::Down | KeyCode::Char('j'));
            assert!(
                is_done || effect(&model, pressed).is_some(),
                "{name}: {label} does nothing"
            );
        }
        let bound = bindings(&model);
        for (at, binding) in bound.iter().enumerate() {
            for other in &bound[at + 1..] {
                let twice = binding.keys.iter().find(|it| other.keys.contains(it));
                assert_eq!(twice, None, "{binding:?} and {other:?}");
            }
        }
    }
}

#[test]
fn an_unavailable_step_has_no_key() {
    let mut model = model();
    choose(&mut model, "p2mm");
    assert_eq!(press(&mut model, key(KeyCode::Char('m'))), []);
    assert_eq!(model.mode, Mode::Browse);
    assert_eq!(press(&mut model, key(KeyCode::Char('r'))), []);
    assert!(matches!(&model.mode, Mode::Alert(alert) if alert.title == "No changes requested"));
}

#[test]
fn typed_text_is_sent_with_the_request() {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('r')));
    assert_eq!(press(&mut model, control('s')), [], "nothing is typed yet");
    enter(&mut model, "smaller");
    press(&mut model, key(KeyCode::Enter));
    enter(&mut model, "commits");
    let commands = press(&mut model, control('s'));
    let task = TaskId::new("k3f9");
    let ask = RequestKind::Verb(Verb::RequestChanges);
    let action = Action::ask(&task, ask).with_message("smaller\ncommits");
    assert_eq!(commands, [Command::Act(1, action)]);
    assert_eq!(model.pending.len(), 1);
    assert_eq!(model.mode, Mode::Browse);
}

#[test]
fn an_agent_that_was_stopped_can_be_restarted() {
    let mut model = model();
    choose(&mut model, "t0rn");
    let restart = |model: &mut Model| press(model, key(KeyCode::Char('S')));
    assert!(restart(&mut model).is_empty(), "it cannot be respawned");
    let mut summary = glance(Vec::new());
    summary.respawn = Some(Role::Worker);
    let task = TaskId::new("t0rn");
    update(&mut model, Message::Glance(task, Box::new(summary)));
    let commands = restart(&mut model);
    let is_restart = |it: &Command| {
        matches!(it, Command::Act(_, Action::Ask { ask, .. })
            if matches!(ask, RequestKind::Restart { .. }))
    };
    assert!(commands.iter().any(is_restart), "{commands:?}");
}
