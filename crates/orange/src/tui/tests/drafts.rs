//! Nothing that was typed is lost.

use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use ratatui::crossterm::event::KeyCode;

use super::sample::{choose, control, enter, key, model, press};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::drafts::{Drafts, SavedDrafts};
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::model::review::{Comment, CommentPlace, Review};
use crate::tui::update::update;

fn failed() -> ActionResult {
    ActionResult::Failed(Alert {
        title: String::from("Task not created"),
        lines: Vec::new(),
        hints: Vec::new(),
        offer: None,
    })
}

fn summary(model: &Model) -> String {
    match &model.mode {
        Mode::Create(form) => form.summary.text().to_owned(),
        mode => panic!("{mode:?}"),
    }
}

fn message(model: &Model) -> String {
    match &model.mode {
        Mode::Write(message) => message.text.text().to_owned(),
        mode => panic!("{mode:?}"),
    }
}

/// Opens the form and describes a task; returns what was saved last.
fn describe(model: &mut Model) -> Drafts {
    press(model, key(KeyCode::Char('c')));
    enter(model, "Fix the log");
    let commands = press(model, key(KeyCode::Char('s')));
    match commands.last() {
        Some(Command::SaveDrafts(drafts)) => (**drafts).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_form_says_what_is_missing() {
    let mut model = model();
    press(&mut model, key(KeyCode::Char('c')));
    press(&mut model, key(KeyCode::Tab));
    assert_eq!(press(&mut model, control('s')), []);
    let notice = model.notice.as_ref().unwrap();
    assert_eq!(
        notice.text,
        "nothing to create yet: describe the work in `summary`"
    );
    enter(&mut model, "Fix it");
    assert_eq!(summary(&model), "Fix it", "the summary has the focus");
    let commands = press(&mut model, control('s'));
    assert!(matches!(commands[..], [Command::Act(..)]), "{commands:?}");
}

#[test]
fn words_typed_for_an_agent_that_is_gone_do_not_act_as_keys() {
    let mut model = model();
    choose(&mut model, "t0rn");
    for letter in "isme".chars() {
        assert_eq!(press(&mut model, key(KeyCode::Char(letter))), []);
    }
    assert!(matches!(&model.mode, Mode::Alert(alert) if alert.title == "No message"));
    press(&mut model, key(KeyCode::Esc));
    assert!(matches!(model.mode, Mode::Browse));
}

#[test]
fn two_dashboards_keep_each_others_drafts() {
    let text = |text: &str| text.to_owned();
    let mut before = Drafts::default();
    before.messages.insert(text("a"), text("sent here"));
    before.messages.insert(text("b"), text("sent there"));
    before.messages.insert(text("c"), text("old"));
    let mut ours = before.clone();
    ours.messages.remove("a");
    ours.messages.insert(text("c"), text("changed here"));
    ours.messages.insert(text("d"), text("new here"));
    let mut saved = before.clone();
    saved.messages.remove("b");
    saved.messages.insert(text("e"), text("new there"));
    saved.task = Some(describe(&mut model()).task.unwrap());
    let merged = ours.merge_into(saved.clone(), &before);
    let expected = [("c", "changed here"), ("d", "new here"), ("e", "new there")];
    assert_eq!(
        merged.messages,
        expected.map(|(key, it)| (text(key), text(it))).into()
    );
    assert_eq!(merged.task, saved.task);
}

#[test]
fn two_dashboards_describe_a_task_and_neither_loses_it() {
    let mut file = Drafts::default();
    // A dashboard that types one more letter, and saves.
    let save = |model: &mut Model, before: &mut Drafts, file: &mut Drafts, letter: &str| {
        enter(model, letter);
        *file = model.drafts.merge_into(file.clone(), before);
        *before = model.drafts.clone();
    };
    let (mut one, mut other) = (model(), model());
    let (mut one_before, mut other_before) = (Drafts::default(), Drafts::default());
    press(&mut one, key(KeyCode::Char('c')));
    press(&mut other, key(KeyCode::Char('c')));
    for (ours, theirs) in [("F", "A"), ("i", "d"), ("x", "d")] {
        save(&mut one, &mut one_before, &mut file, ours);
        save(&mut other, &mut other_before, &mut file, theirs);
    }
    assert_eq!(file.task.as_ref().unwrap().summary, "Add");
    let others = file.other_tasks.iter().map(|it| it.summary.as_str());
    assert_eq!(others.collect::<Vec<_>>(), ["Fix"]);
    // The first one closes its form, learns about the other, and opens it again.
    press(&mut one, key(KeyCode::Esc));
    let saved = SavedDrafts {
        saved: file,
        before: one_before,
    };
    update(&mut one, Message::Drafts(Box::new(saved)));
    press(&mut one, key(KeyCode::Char('c')));
    assert_eq!(summary(&one), "Fix");
    let others = one.drafts.other_tasks.iter().map(|it| it.summary.as_str());
    assert_eq!(others.collect::<Vec<_>>(), ["Add"]);
}

#[test]
fn two_dashboards_comment_on_the_same_diff() {
    let comment = |text: &str| Comment {
        place: CommentPlace {
            path: String::from("a.rs"),
            numbers: (1, 1),
            is_old: false,
            count: 1,
            quote: vec![String::from("+x")],
        },
        text: text.to_owned(),
    };
    let drafts = |texts: &[&str]| {
        let mut drafts = Drafts::default();
        let comments = texts.iter().map(|it| comment(it)).collect();
        let review = Review {
            comments,
            ..Review::default()
        };
        drafts.reviews.insert(String::from("k3f9"), review);
        drafts
    };
    let before = drafts(&["kept", "deleted here", "deleted there", "old"]);
    let ours = drafts(&["kept", "deleted there", "changed here", "new here"]);
    let saved = drafts(&["kept", "deleted here", "old", "new there"]);
    let merged = ours.merge_into(saved, &before);
    let texts = merged.reviews["k3f9"]
        .comments
        .iter()
        .map(|it| it.text.as_str());
    let expected = ["kept", "new there", "changed here", "new here"];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

#[test]
fn a_form_survives_esc_a_refusal_a_failed_editor_and_a_killed_dashboard() {
    let mut model = model();
    let saved = describe(&mut model);
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(model.mode, Mode::Browse);
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "Fix the logs");
    // Refused.
    let commands = press(&mut model, control('s'));
    let number = commands.iter().find_map(|it| match it {
        Command::Act(number, _) => Some(*number),
        _ => None,
    });
    update(&mut model, Message::Answered(number.unwrap(), failed()));
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "Fix the logs");
    // An editor that fails, with and without having saved something.
    let failure = Some(String::from("`vi` exited with code 1"));
    update(&mut model, Message::Edited(None, failure.clone()));
    assert_eq!(summary(&model), "Fix the logs");
    let saved_text = Some(String::from("Fix all logs\n"));
    update(&mut model, Message::Edited(saved_text, failure));
    assert_eq!(summary(&model), "Fix all logs");
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .contains("your text is kept")
    );
    // Another dashboard, after the first was killed.
    let mut other = super::sample::model();
    let json = serde_json::to_string(&saved).unwrap();
    other.drafts = serde_json::from_str(&json).unwrap();
    press(&mut other, key(KeyCode::Char('c')));
    assert_eq!(summary(&other), "Fix the logs");
}

#[test]
fn a_draft_is_forgotten_when_it_was_sent_or_discarded() {
    let mut model = model();
    describe(&mut model);
    let commands = press(&mut model, control('s'));
    let Some(Command::Act(number, _)) = commands.first() else {
        panic!("{commands:?}");
    };
    let done = ActionResult::Done {
        task: None,
        text: String::new(),
    };
    let commands = update(&mut model, Message::Answered(*number, done));
    assert!(commands.contains(&Command::SaveDrafts(Box::default())));
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "");
    enter(&mut model, "x");
    let commands = press(&mut model, control('x'));
    assert_eq!(model.mode, Mode::Browse);
    assert!(commands.contains(&Command::SaveDrafts(Box::default())));
}

#[test]
fn a_task_that_is_being_created_is_not_offered_again_unless_it_is_refused() {
    let mut model = model();
    describe(&mut model);
    let commands = press(&mut model, control('s'));
    let Some(Command::Act(number, _)) = commands.first() else {
        panic!("{commands:?}");
    };
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "");
    enter(&mut model, "Another");
    update(&mut model, Message::Answered(*number, failed()));
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "Another");
    press(&mut model, control('x'));
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(summary(&model), "Fix the logs", "it was refused");
    let notice = |model: &Model| model.notice.as_ref().map(|it| it.text.clone());
    assert_eq!(
        notice(&model).as_deref(),
        Some("your draft; ^X discards it")
    );
    press(&mut model, control('x'));
    assert_eq!(notice(&model).as_deref(), Some("the draft is discarded"));
    assert_eq!(model.drafts, Drafts::default());
}

#[test]
fn a_message_is_kept_for_its_task_and_its_purpose() {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('r')));
    enter(&mut model, "smaller");
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('i')));
    assert_eq!(message(&model), "", "another purpose");
    press(&mut model, key(KeyCode::Esc));
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('r')));
    assert_eq!(message(&model), "smaller");
    let task = TaskId::new("k3f9");
    let action = Action::ask(&task, RequestKind::Verb(Verb::RequestChanges));
    assert_eq!(model.drafts.message_for(&action), "smaller");
    press(&mut model, control('x'));
    assert_eq!(model.drafts, Drafts::default());
}

#[test]
fn what_another_dashboard_has_saved_arrives_once_the_user_has_finished_typing() {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('r')));
    enter(&mut model, "mine");
    let arrive = |saved: &Drafts, before: &Drafts| {
        let (saved, before) = (saved.clone(), before.clone());
        Message::Drafts(Box::new(SavedDrafts { saved, before }))
    };
    let before = model.drafts.clone();
    let mut saved = before.clone();
    let theirs = String::from("theirs");
    saved.messages.insert(String::from("other"), theirs);
    update(&mut model, arrive(&saved, &before));
    assert_eq!(model.drafts.messages.get("other"), None, "not while typing");
    enter(&mut model, " too");
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(model.drafts.messages["other"], "theirs");
    let task = TaskId::new("k3f9");
    let action = Action::ask(&task, RequestKind::Verb(Verb::RequestChanges));
    assert_eq!(model.drafts.message_for(&action), "mine too");
    // The same message, typed in another dashboard, does not replace it here.
    let before = model.drafts.clone();
    let mut saved = before.clone();
    saved
        .messages
        .insert(action.draft_name(), String::from("theirs"));
    update(&mut model, arrive(&saved, &before));
    assert_eq!(model.drafts.messages[&action.draft_name()], "theirs");
    assert_eq!(model.drafts.message_for(&action), "mine too");
    // What the other dashboard has sent or removed is removed here too.
    let before = model.drafts.clone();
    let commands = update(&mut model, arrive(&Drafts::default(), &before));
    assert_eq!(model.drafts, Drafts::default());
    assert!(commands.contains(&Command::SaveDrafts(Box::default())));
}
