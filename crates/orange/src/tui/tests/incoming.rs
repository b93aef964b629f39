//! What arrives from outside: changes, answers, clicks, pasted text.

use orange_driver::{AgentState, ListChange};
use orange_engine::activity::ActivityState;
use orange_engine::evidence::Evidence;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{Status, TaskId};
use orange_engine::task::RunState;
use orange_engine::time::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::sample::{choose, control, enter, key, model, now, press, row, rows};
use crate::tui::buttons::buttons;
use crate::tui::layout::layout;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::list::Line;
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::update::update;

fn selected_id(model: &Model) -> &str {
    model.list.selected().map_or("", |it| it.row.id.as_str())
}

fn change(sequence: u64, rows: Vec<orange_driver::TaskRow>, gone: &[&str]) -> Message {
    Message::Changed(ListChange {
        sequence,
        is_whole: false,
        rows,
        gone: gone.iter().map(TaskId::new).collect(),
    })
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Message {
    Message::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    })
}

const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

#[test]
fn zones_are_ordered_and_finished_tasks_are_hidden() {
    let model = model();
    let lines: Vec<String> = model
        .list
        .lines()
        .iter()
        .map(|line| match line {
            Line::Heading(title, count) => format!("{title} {count}"),
            Line::Task(id) => id.to_string(),
        })
        .collect();
    assert_eq!(
        lines,
        [
            "NEEDS YOU 3",
            "k3f9",
            "p2mm",
            "t0rn",
            "RUNNING 1",
            "w0rk",
            "QUEUE AND DONE 1",
            "q1q1"
        ]
    );
    assert_eq!(model.list.counts(), [3, 1, 1]);
}

#[test]
fn the_selected_task_stays_selected_when_it_moves() {
    let mut model = model();
    choose(&mut model, "w0rk");
    let moved = row("w0rk", "reviewing", Kind::Human, "Add a cache");
    update(&mut model, change(8, vec![moved], &[]));
    assert_eq!(selected_id(&model), "w0rk");
    assert_eq!(model.list.sequence, 8);
    update(&mut model, change(9, Vec::new(), &["w0rk"]));
    assert_eq!(selected_id(&model), "q1q1", "the task now in its place");
    let all = ["k3f9", "p2mm", "t0rn", "q1q1"];
    update(&mut model, change(10, Vec::new(), &all));
    assert_eq!(selected_id(&model), "");
    assert!(model.list.lines().is_empty());
}

#[test]
fn stale_agent_output_is_discarded() {
    let mut model = model();
    let id = TaskId::new("w0rk");
    let entry = |model: &Model| model.list.entry(&id).unwrap().clone();
    assert!(entry(&model).glance.is_some());
    let mut same = entry(&model).row;
    same.summary = String::from("said better");
    update(&mut model, change(8, vec![same.clone()], &[]));
    assert!(entry(&model).glance.is_some() && entry(&model).agent_state.is_some());
    same.status = Status::new("elsewhere");
    same.runs.clear();
    update(&mut model, change(9, vec![same], &[]));
    assert!(entry(&model).glance.is_none() && entry(&model).agent_state.is_none());
}

#[test]
fn visible_tasks_are_refreshed_when_they_change() {
    let mut model = model();
    let rows: Vec<_> = rows()
        .into_iter()
        .filter(|it| it.project.as_str() == "app")
        .collect();
    let commands = update(&mut model, change(8, rows, &[]));
    let again = commands.iter().find_map(|it| match it {
        Command::Reload(tasks) => Some(tasks.len()),
        _ => None,
    });
    assert_eq!(again, Some(5), "the finished one is not visible");
}

#[test]
fn an_agent_that_asks_for_permission_needs_you() {
    let mut model = model();
    choose(&mut model, "w0rk");
    let told =
        |id: &str, doing| Message::Activity([(TaskId::new(id), doing)].into_iter().collect());
    for (doing, counts) in [
        (ActivityState::WaitingForPermission, [4, 0, 1]),
        (ActivityState::Working, [3, 1, 1]),
        (ActivityState::WaitingForInput, [4, 0, 1]),
        (ActivityState::Silent, [4, 0, 1]),
        (ActivityState::Stalled, [4, 0, 1]),
        (ActivityState::Idle, [3, 1, 1]),
        (ActivityState::Unknown, [3, 1, 1]),
    ] {
        update(&mut model, told("w0rk", doing));
        assert_eq!(model.list.counts(), counts, "{doing:?}");
        assert_eq!(selected_id(&model), "w0rk");
    }
    // In a status that waits for the user anyway, a waiting agent is not a second reason.
    update(&mut model, told("p2mm", ActivityState::WaitingForInput));
    let asked = model.list.entry(&TaskId::new("p2mm")).unwrap();
    assert_eq!(
        (asked.activity, asked.user_request()),
        (Some(ActivityState::WaitingForInput), None)
    );
    // Another agent has not reported anything yet.
    let mut other = asked.row.clone();
    other.runs.clear();
    update(&mut model, change(8, vec![other], &[]));
    let entry = model.list.entry(&TaskId::new("p2mm")).unwrap();
    assert_eq!(entry.activity, None);
}

#[test]
fn contents_of_another_task_are_not_shown() {
    let mut model = model();
    choose(&mut model, "k3f9");
    let content = || Content::Nothing(String::from("x"));
    update(
        &mut model,
        Message::Loaded(TaskId::new("p2mm"), Tab::Terminal, content()),
    );
    assert_eq!(*model.detail.content(), Content::Pending);
    update(
        &mut model,
        Message::Loaded(TaskId::new("k3f9"), Tab::Terminal, content()),
    );
    assert_eq!(*model.detail.content(), content());
    choose(&mut model, "p2mm");
    assert_eq!(*model.detail.content(), Content::Pending);
}

#[test]
fn an_answer_is_shown_and_a_new_task_is_selected() {
    let mut model = model();
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, "New");
    let commands = press(&mut model, control('s'));
    assert!(
        matches!(&commands[..], [Command::Act(1, Action::Create(draft))] if draft.summary == "New")
    );
    let result = ActionResult::Done {
        task: Some(TaskId::new("n3w0")),
        text: String::from("n3w0: created"),
    };
    update(&mut model, Message::Answered(1, result));
    assert!(model.pending.is_empty());
    let new = row("n3w0", "pending", Kind::Queued, "New");
    update(&mut model, change(8, vec![new], &[]));
    assert_eq!(model.notice.as_ref().unwrap().text, "n3w0: created");
    let later = Timestamp::from_millis(now().millis() + 60_000);
    update(&mut model, Message::Tick(later));
    assert_eq!(model.notice, None, "the notice has expired");
}

#[test]
fn a_failure_does_not_interrupt_typing() {
    let mut model = model();
    choose(&mut model, "k3f9");
    let alert = Alert {
        title: String::from("Failed"),
        lines: vec![String::from("why")],
        hints: Vec::new(),
        offer: None,
    };
    press(&mut model, key(KeyCode::Char('r')));
    update(
        &mut model,
        Message::Answered(9, ActionResult::Failed(alert.clone())),
    );
    assert!(matches!(model.mode, Mode::Write(_)));
    assert_eq!(model.notice.as_ref().unwrap().text, "why");
    press(&mut model, key(KeyCode::Esc));
    update(
        &mut model,
        Message::Answered(10, ActionResult::Failed(alert.clone())),
    );
    assert_eq!(model.mode, Mode::Alert(alert));
}

#[test]
fn a_deleted_task_can_be_restored() {
    let mut model = model();
    let id = TaskId::new("d0ne");
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "d0ne");
    press(&mut model, key(KeyCode::Enter));
    assert_eq!(selected_id(&model), "d0ne");
    press(&mut model, key(KeyCode::Char('d')));
    let commands = press(&mut model, key(KeyCode::Char('y')));
    assert_eq!(commands, [Command::Act(1, Action::Delete(id.clone()))]);
    let done = |text: &str| ActionResult::Done {
        task: Some(TaskId::new("d0ne")),
        text: text.to_owned(),
    };
    update(&mut model, Message::Answered(1, done("deleted")));
    assert_eq!(model.deleted, std::slice::from_ref(&id));
    let commands = press(&mut model, key(KeyCode::Char('u')));
    assert_eq!(commands, [Command::Act(2, Action::Undelete(id))]);
    update(&mut model, Message::Answered(2, done("back")));
    assert_eq!(model.deleted, []);
}

#[test]
fn a_confirmation_is_asked_before_the_request_is_sent() {
    let mut model = model();
    let action = Action::Delete(TaskId::new("d0ne"));
    let result = ActionResult::NeedsConfirmation {
        question: String::from("Not reviewed. Force merge?"),
        then: action.clone(),
    };
    update(&mut model, Message::Answered(1, result));
    assert!(matches!(&model.mode, Mode::Confirm(it) if it.text.starts_with("Not reviewed")));
    assert_eq!(
        press(&mut model, key(KeyCode::Enter)),
        [],
        "Enter is not a yes"
    );
    assert_eq!(
        press(&mut model, key(KeyCode::Char('y'))),
        [Command::Act(1, action)]
    );
}

#[test]
fn the_mouse_selects_scrolls_and_clicks() {
    let mut model = model();
    let places = layout(&model);
    let list = places.list.unwrap();
    update(&mut model, mouse(CLICK, 5, list.y + 2));
    assert_eq!(selected_id(&model), "p2mm");
    update(&mut model, mouse(MouseEventKind::ScrollDown, 5, list.y));
    assert_eq!(selected_id(&model), "t0rn");
    let tabs = places.tabs.unwrap();
    update(&mut model, mouse(CLICK, tabs.x + 14, tabs.y));
    assert_eq!(model.detail.tab, Tab::Task);
    let all = buttons(&model);
    let help = all.iter().find(|(_, button)| button.0 == "?").unwrap();
    update(&mut model, mouse(CLICK, help.0, places.footer.y));
    assert_eq!(model.mode, Mode::Help(0));
    update(&mut model, mouse(CLICK, 5, list.y + 1));
    assert_eq!(
        selected_id(&model),
        "t0rn",
        "the open popup covers the list"
    );
}

#[test]
fn pasted_text_is_text_and_never_a_key() {
    let mut model = model();
    choose(&mut model, "k3f9");
    assert_eq!(update(&mut model, Message::Paste(String::from("xyq"))), []);
    assert_eq!(model.mode, Mode::Browse);
    press(&mut model, key(KeyCode::Char('i')));
    update(
        &mut model,
        Message::Paste(String::from("a\r\nb\u{1b}[201~")),
    );
    let Mode::Write(letter) = &model.mode else {
        panic!("{:?}", model.mode);
    };
    assert_eq!(letter.text.text(), "a\nb[201~");
}

#[test]
fn text_from_the_editor_is_used() {
    let mut model = model();
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, "short");
    let commands = press(&mut model, control('e'));
    assert_eq!(commands, [Command::EditText(String::from("short"))]);
    update(
        &mut model,
        Message::Edited(Some(String::from("long\ntext\n")), None),
    );
    let Mode::Create(form) = &model.mode else {
        panic!("{:?}", model.mode);
    };
    assert_eq!(form.summary.text(), "long\ntext");
}

#[test]
fn a_narrow_terminal_shows_one_thing_at_a_time() {
    let mut model = model();
    update(&mut model, Message::Resized(60, 20));
    assert!(layout(&model).detail.is_none() && layout(&model).list.is_some());
    press(&mut model, key(KeyCode::Char('2')));
    assert!(layout(&model).detail.is_some() && layout(&model).list.is_none());
    press(&mut model, key(KeyCode::Esc));
    assert!(layout(&model).list.is_some());
    update(&mut model, Message::Resized(200, 60));
    assert!(layout(&model).detail.is_some() && layout(&model).list.is_some());
    for size in [(1, 1), (0, 0), (3, 40), (200, 2)] {
        update(&mut model, Message::Resized(size.0, size.1));
    }
}

#[test]
fn an_agent_is_looked_up_once_and_shown_only_while_waiting() {
    let alert = || Alert {
        title: String::from("Cannot attach"),
        lines: vec![String::from("its pane is gone")],
        hints: Vec::new(),
        offer: None,
    };
    let found = |id: &str| Message::AgentFound(TaskId::new(id), Err(alert()));
    let mut model = model();
    choose(&mut model, "k3f9");
    let looks = press(&mut model, key(KeyCode::Enter));
    assert_eq!(looks, [Command::Attach(TaskId::new("k3f9"))]);
    assert_eq!(press(&mut model, key(KeyCode::Enter)), []);
    update(&mut model, found("w0rk"));
    assert_eq!(model.mode, Mode::Browse, "another task was requested");
    update(&mut model, found("k3f9"));
    assert_eq!(model.mode, Mode::Alert(alert()));
    press(&mut model, key(KeyCode::Esc));

    press(&mut model, key(KeyCode::Enter));
    press(&mut model, key(KeyCode::Char('i')));
    update(&mut model, found("k3f9"));
    assert!(
        matches!(model.mode, Mode::Write(_)),
        "the user is not interrupted"
    );
    let notice = model.notice.map(|it| it.text);
    assert_eq!(notice.as_deref(), Some("its pane is gone"));
}

#[test]
fn a_request_that_waits_for_the_database_is_shown_as_waiting() {
    let mut model = model();
    choose(&mut model, "q1q1");
    let commands = press(&mut model, key(KeyCode::Enter));
    assert!(matches!(commands[..], [Command::Act(1, _)]), "{commands:?}");
    update(&mut model, Message::Blocked(2));
    assert!(!model.pending[0].is_blocked, "that is another action");
    update(&mut model, Message::Blocked(1));
    assert!(model.pending[0].is_blocked);
    let done = ActionResult::Done {
        task: None,
        text: String::from("done"),
    };
    update(&mut model, Message::Answered(1, done));
    assert!(model.pending.is_empty());
}

#[test]
fn a_late_snapshot_does_not_show_an_exited_agent() {
    let mut model = model();
    let mut ended = rows().remove(0);
    let id = ended.id.clone();
    for run in ended.runs.values_mut() {
        let evidence = Evidence::Closed;
        run.state = RunState::Ended { evidence };
    }
    update(&mut model, change(8, vec![ended], &[]));
    let seen = [(id.clone(), AgentState::Alive)].into();
    update(&mut model, Message::Agents(seen));
    let entry = model.list.entry(&id).unwrap();
    assert_eq!(entry.agent(), AgentState::Dead);
}
