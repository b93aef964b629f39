//! Marked tasks: keys act on all of them, after one dialog.

use orange_driver::ListChange;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use orange_engine::refusal::Blocker;
use ratatui::crossterm::event::KeyCode;

use super::sample::{choose, control, enter, glance, key, model, press, way};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::model::review::{Comment, CommentPlace};
use crate::tui::update::update;

fn mark(model: &mut Model, ids: &[&str]) {
    for id in ids {
        choose(model, id);
        press(model, key(KeyCode::Char(' ')));
    }
}

fn marked(model: &Model) -> Vec<String> {
    let marked = model.list.marked().into_iter();
    marked.map(|entry| entry.row.id.to_string()).collect()
}

/// The text of the open question.
fn question(model: &Model) -> String {
    match &model.mode {
        Mode::Confirm(it) => [vec![it.text.clone()], it.consequences.clone()]
            .concat()
            .join("\n"),
        Mode::Write(it) => [vec![it.title.clone()], it.explanation.clone()]
            .concat()
            .join("\n"),
        mode => panic!("{mode:?}"),
    }
}

fn actions(commands: &[Command]) -> Vec<Action> {
    match commands {
        [Command::Act(_, Action::Several(all))] => all.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn space_marks_and_moves_down_and_esc_clears() {
    let mut model = model();
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char(' ')));
    assert_eq!(marked(&model), ["k3f9"]);
    assert_eq!(model.list.selected().unwrap().row.id.as_str(), "p2mm");
    press(&mut model, key(KeyCode::Char(' ')));
    assert_eq!(marked(&model), ["k3f9", "p2mm"]);
    mark(&mut model, &["k3f9"]);
    assert_eq!(marked(&model), ["p2mm"]);
    // `Esc` leaves a search before it clears marks: marks are collected over several searches.
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "cache");
    press(&mut model, key(KeyCode::Enter));
    press(&mut model, key(KeyCode::Char(' ')));
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(marked(&model), ["p2mm", "w0rk"]);
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(marked(&model), [""; 0]);
}

#[test]
fn a_task_that_is_gone_loses_its_mark() {
    let mut model = model();
    mark(&mut model, &["k3f9", "w0rk"]);
    let change = ListChange {
        sequence: 8,
        is_whole: false,
        rows: Vec::new(),
        gone: vec![TaskId::new("k3f9")],
    };
    update(&mut model, Message::Changed(change));
    assert_eq!(marked(&model), ["w0rk"]);
}

#[test]
fn one_dialog_cancels_all_marked_tasks_also_those_that_are_not_shown() {
    let mut model = model();
    mark(&mut model, &["k3f9", "q1q1"]);
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "login");
    press(&mut model, key(KeyCode::Enter));
    assert!(model.viewport.visible.contains(&TaskId::new("q1q1")));
    assert_eq!(press(&mut model, key(KeyCode::Char('x'))), []);
    let text = question(&model);
    for part in [
        "Cancel 2 tasks?",
        "k3f9 reviewing Fix the login",
        "q1q1 pending Write the documentation",
        "Not in the list now: q1q1.",
        "Uncommitted changes are saved",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(press(&mut model, key(KeyCode::Char('n'))), []);
    assert_eq!(marked(&model).len(), 2, "no keeps the marks");
    press(&mut model, key(KeyCode::Char('x')));
    let commands = press(&mut model, key(KeyCode::Char('y')));
    let cancel = |id: &str| Action::ask(&TaskId::new(id), RequestKind::Verb(Verb::Cancel));
    assert_eq!(actions(&commands), [cancel("k3f9"), cancel("q1q1")]);
    assert_eq!(marked(&model), [""; 0]);
    assert_eq!(model.pending[0].action.description(), "cancel 2 tasks");
}

#[test]
fn a_dialog_about_many_tasks_names_all_of_them_and_fits() {
    let mut model = model();
    let row = |number: u8| {
        let id = format!("m{number:03}");
        let mut row = super::sample::rows().remove(0);
        (row.id, row.summary) = (TaskId::new(id), "漢字 and more words ".repeat(9));
        row
    };
    let change = ListChange {
        sequence: 8,
        is_whole: true,
        rows: (0..40).map(row).collect(),
        gone: Vec::new(),
    };
    update(&mut model, Message::Changed(change));
    press(&mut model, key(KeyCode::Char('g')));
    for _ in 0..40 {
        press(&mut model, key(KeyCode::Char(' ')));
    }
    press(&mut model, key(KeyCode::Char('d')));
    press(&mut model, key(KeyCode::Char('i')));
    let text = question(&model);
    assert!(text.contains("agents of 40 tasks"), "{text}");
    assert!(text.contains("and 32 more: m008, m009, "), "{text}");
    assert!(text.contains("m027, 12 more"), "{text}");
    assert!(
        text.lines().all(|line| line.len() < 200),
        "a summary is cut: {text}"
    );
}

#[test]
fn marked_tasks_are_merged_in_order_and_say_what_is_special() {
    let mut model = model();
    let ways = vec![way("done", &[Verb::Merge])];
    update(
        &mut model,
        Message::Glance(TaskId::new("p2mm"), Box::new(glance(ways))),
    );
    let place = CommentPlace {
        path: String::from("a.rs"),
        numbers: (1, 1),
        is_old: false,
        count: 1,
        quote: vec![String::from("+x")],
    };
    let comment = Comment {
        place,
        text: String::from("why"),
    };
    let add = |review: &mut crate::tui::model::review::Review| review.comments.push(comment);
    model.drafts.change_review(&TaskId::new("p2mm"), add);
    mark(&mut model, &["w0rk", "p2mm", "k3f9"]);
    press(&mut model, key(KeyCode::Char('m')));
    let text = question(&model);
    for part in [
        "Merge 3 tasks?",
        "p2mm clarification (1 comment on the diff is not sent) Which",
        "w0rk working (1/3 done) (no merge from here) Add a",
        "each on the result of the one before",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = actions(&press(&mut model, key(KeyCode::Char('y'))));
    let merged: Vec<String> = all.iter().map(Action::description).collect();
    assert_eq!(merged, ["merging k3f9", "merging p2mm", "merging w0rk"]);
}

#[test]
fn a_question_of_the_workflow_is_shown_before_it_counts_as_answered() {
    let mut model = model();
    let mut asking = way("cancelled", &[Verb::Cancel]);
    asking.missing = vec![Blocker::ConfirmationNeeded {
        question: String::from("Throw it away?"),
    }];
    update(
        &mut model,
        Message::Glance(TaskId::new("k3f9"), Box::new(glance(vec![asking]))),
    );
    mark(&mut model, &["k3f9", "p2mm"]);
    press(&mut model, key(KeyCode::Char('x')));
    let text = question(&model);
    assert!(text.contains("asks about k3f9: Throw it away?"), "{text}");
    let all = actions(&press(&mut model, key(KeyCode::Char('y'))));
    let confirmed = all
        .iter()
        .map(|it| matches!(it, Action::Ask { confirmed, .. } if *confirmed));
    assert_eq!(confirmed.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_message_goes_to_all_marked_tasks_and_is_kept_if_one_is_refused() {
    let mut model = model();
    mark(&mut model, &["k3f9", "q1q1"]);
    press(&mut model, key(KeyCode::Char('i')));
    let text = question(&model);
    assert!(text.contains("agents of 2 tasks"), "{text}");
    assert!(text.contains("q1q1 pending (has no agent)"), "{text}");
    enter(&mut model, "hello");
    let commands = press(&mut model, control('s'));
    let all = actions(&commands);
    let tell = |id: &str| {
        Action::ask(&TaskId::new(id), RequestKind::Tell { role: None }).with_message("hello")
    };
    assert_eq!(all, [tell("k3f9"), tell("q1q1")]);
    let done = |task: &str| ActionResult::Done {
        task: Some(TaskId::new(task)),
        text: String::from("the message is in the agent's inbox"),
    };
    let refused = ActionResult::Refused(Alert {
        title: String::from("Refused"),
        lines: vec![String::from("no agent is running for this task")],
        hints: vec![String::from("run `orange task spawn q1q1`")],
        offer: None,
    });
    let results = all.iter().cloned().zip([done("k3f9"), refused]);
    let mut after = model.clone();
    let result = ActionResult::Several(results.collect());
    update(&mut after, Message::Answered(1, result));
    let Mode::Alert(alert) = &after.mode else {
        panic!("{:?}", after.mode);
    };
    assert_eq!(
        alert.title,
        "sending a message to 2 tasks: 1 done, 1 refused"
    );
    assert_eq!(
        alert.lines,
        ["q1q1: refused: no agent is running for this task"]
    );
    press(&mut after, key(KeyCode::Esc));
    mark(&mut after, &["q1q1", "k3f9", "p2mm"]);
    press(&mut after, key(KeyCode::Char('i')));
    assert!(matches!(&after.mode, Mode::Write(it) if it.text.text() == "hello"));

    let results = all.into_iter().zip([done("k3f9"), done("q1q1")]);
    let result = ActionResult::Several(results.collect());
    update(&mut model, Message::Answered(1, result));
    let notice = model.notice.as_ref().unwrap();
    assert_eq!(notice.text, "sending a message to 2 tasks: 2 done");
    mark(&mut model, &["q1q1", "k3f9"]);
    press(&mut model, key(KeyCode::Char('i')));
    assert!(matches!(&model.mode, Mode::Write(it) if it.text.is_blank()));
}

#[test]
fn deleted_tasks_can_all_be_restored_and_a_failed_effect_is_not_done() {
    let mut model = model();
    press(&mut model, key(KeyCode::Char('f')));
    press(&mut model, key(KeyCode::Char('G')));
    press(&mut model, key(KeyCode::Enter));
    mark(&mut model, &["d0ne", "k3f9"]);
    press(&mut model, key(KeyCode::Char('d')));
    let text = question(&model);
    assert!(text.contains("Delete 2 tasks?"), "{text}");
    assert!(text.contains("k3f9 reviewing (not finished)"), "{text}");
    let all = actions(&press(&mut model, key(KeyCode::Char('y'))));
    let failed = ActionResult::Failed(Alert {
        title: String::from("Delete failed"),
        lines: vec![String::from("disk full")],
        hints: Vec::new(),
        offer: None,
    });
    let done = ActionResult::Done {
        task: Some(TaskId::new("d0ne")),
        text: String::new(),
    };
    let results = all.into_iter().map(|action| {
        let is_ended = action == Action::Delete(TaskId::new("d0ne"));
        let result = if is_ended { &done } else { &failed };
        (action, result.clone())
    });
    // While the user types, the result is one line.
    press(&mut model, key(KeyCode::Char('/')));
    let result = ActionResult::Several(results.collect());
    update(&mut model, Message::Answered(1, result));
    let notice = model.notice.as_ref().unwrap();
    assert_eq!(
        notice.text,
        "deleting 2 tasks: 1 done, 1 failed; k3f9: failed: disk full"
    );
    assert_eq!(model.deleted, [TaskId::new("d0ne")]);
}

#[test]
fn enter_starts_only_the_marked_tasks_that_have_no_agent() {
    let mut model = model();
    mark(&mut model, &["k3f9"]);
    choose(&mut model, "w0rk");
    let attach = Command::Attach(TaskId::new("w0rk"));
    assert_eq!(press(&mut model, key(KeyCode::Enter)), [attach]);
    mark(&mut model, &["q1q1"]);
    press(&mut model, key(KeyCode::Enter));
    let text = question(&model);
    assert!(text.contains("Start the agents of 1 task?"), "{text}");
    assert!(text.contains("nothing to start: k3f9."), "{text}");
    let all = actions(&press(&mut model, key(KeyCode::Char('y'))));
    let spawn = Action::ask(&TaskId::new("q1q1"), RequestKind::Verb(Verb::Spawn));
    assert_eq!(all, [spawn]);
}

#[test]
fn a_move_of_the_selected_task_leaves_marked_tasks_alone() {
    let mut model = model();
    mark(&mut model, &["w0rk", "p2mm"]);
    choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('t')));
    for _ in 0..2 {
        press(&mut model, key(KeyCode::Char('j')));
    }
    press(&mut model, key(KeyCode::Enter));
    let text = question(&model);
    assert!(text.starts_with("Cancel k3f9?"), "{text}");
}
