//! The pull requests of tasks: a column, and a key.

use std::collections::{BTreeMap, BTreeSet};

use orange_driver::{ChecksOutcome, ChecksSummary, PullRequestSnapshot, ReviewSummary};
use orange_engine::input::RequestKind;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId, ProjectName, TaskId};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;

use super::sample::{choose, key, model, press};
use crate::tui::buttons::footer;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::Message;
use crate::tui::model::mode::Mode;
use crate::tui::model::pull_requests::PullRequests;
use crate::tui::update::update;
use crate::tui::view::draw_on;

fn snapshot(number: u64, checks: Option<ChecksOutcome>) -> PullRequestSnapshot {
    PullRequestSnapshot {
        number,
        url: format!("https://github.com/ada/app/pull/{number}"),
        state: PullRequestState::Open,
        is_draft: false,
        head: CommitId::new("5d0c2f9e41ab"),
        base: BranchName::new("main"),
        checks: checks.map(|outcome| ChecksSummary {
            outcome,
            names: Vec::new(),
        }),
        review: None,
        is_conflicting: Some(false),
        open_points: Some(0),
        open_threads: Some(0),
        is_queued: false,
    }
}

fn receive(model: &mut Model, seen: Vec<(&str, PullRequestSnapshot)>) {
    let seen = seen.into_iter().map(|(id, it)| (TaskId::new(id), it));
    let found = PullRequests {
        seen: seen.collect(),
        projects: BTreeSet::from([ProjectName::new("app")]),
    };
    update(model, Message::PullRequests(found));
}

fn lines(model: &Model, width: u16) -> Vec<String> {
    let mut model = model.clone();
    update(&mut model, Message::Resized(width, 24));
    let area = Rect::new(0, 0, width, 24);
    let mut buffer = Buffer::empty(area);
    draw_on(&model, area, &mut buffer);
    let line = |y| (0..width).map(move |x| (x, y));
    let symbols = |y| line(y).map(|at| buffer[at].symbol()).collect::<String>();
    (0..24).map(symbols).collect()
}

fn row_of(lines: &[String], id: &str) -> String {
    let is_row = |line: &&String| line.split_whitespace().nth(1) == Some(id);
    lines.iter().find(is_row).unwrap().clone()
}

fn has_key(model: &Model, label: &str) -> bool {
    let mut model = model.clone();
    update(&mut model, Message::Resized(200, 60));
    footer(&model)
        .iter()
        .any(|(key, it, _)| key == "P" && it == label)
}

#[test]
fn the_sign_says_what_comes_first() {
    let open = |checks| snapshot(7, checks);
    let mut merged = open(None);
    merged.state = PullRequestState::Merged;
    let mut closed = open(None);
    closed.state = PullRequestState::Closed;
    let mut conflicting = open(Some(ChecksOutcome::Failing));
    conflicting.is_conflicting = Some(true);
    let mut commented = open(Some(ChecksOutcome::Passing));
    commented.open_points = Some(2);
    let mut refused = open(Some(ChecksOutcome::Pending));
    refused.review = Some(ReviewSummary::ChangesRequested);
    let mut queued = open(Some(ChecksOutcome::Passing));
    queued.is_queued = true;
    for (seen, cell) in [
        (merged, "#7M"),
        (closed, "#7C"),
        (conflicting, "#7!"),
        (open(Some(ChecksOutcome::Failing)), "#7✗"),
        (commented, "#7±"),
        (refused, "#7±"),
        (queued, "#7»"),
        (open(Some(ChecksOutcome::Pending)), "#7…"),
        (open(Some(ChecksOutcome::Passing)), "#7✓"),
        (open(Some(ChecksOutcome::None)), "#7"),
        (open(None), "#7"),
    ] {
        let found = PullRequests {
            seen: BTreeMap::from([(TaskId::new("k3f9"), seen)]),
            projects: BTreeSet::new(),
        };
        assert_eq!(found.cell(&TaskId::new("k3f9")).unwrap().1, cell);
        assert_eq!(found.cell(&TaskId::new("w0rk")), None);
    }
}

#[test]
fn the_column_is_there_only_if_a_task_has_one_and_there_is_room() {
    let mut model = model();
    let before = lines(&model, 80);
    receive(&mut model, Vec::new());
    assert_eq!(lines(&model, 80), before, "no task has one");
    receive(
        &mut model,
        vec![("k3f9", snapshot(1234, Some(ChecksOutcome::Passing)))],
    );
    for width in [80, 120, 200] {
        let lines = lines(&model, width);
        assert!(row_of(&lines, "k3f9").contains("#1234✓ "), "{lines:#?}");
        assert!(!row_of(&lines, "w0rk").contains("#1"), "{lines:#?}");
    }
    for width in [40, 50, 60, 70] {
        let lines = lines(&model, width);
        let row = row_of(&lines, "k3f9");
        assert!(!row.contains("#1") || row.contains("#1234✓ "), "{row}");
    }
}

#[test]
fn the_key_asks_before_it_opens_one_and_then_shows_it() {
    let mut model = model();
    choose(&mut model, "k3f9");
    assert_eq!(press(&mut model, key(KeyCode::Char('P'))), []);
    assert_eq!(model.mode, Mode::Browse, "the project is on no forge");
    receive(&mut model, Vec::new());
    assert!(has_key(&model, "pull request"));
    assert_eq!(press(&mut model, key(KeyCode::Char('P'))), []);
    let Mode::Confirm(question) = &model.mode else {
        panic!("{:?}", model.mode);
    };
    assert_eq!(question.text, "Open a pull request for k3f9?");
    let said = question.consequences.join("\n");
    assert!(said.contains("Pushes `feature/k3f9`"), "{said}");
    let ask = RequestKind::OpenPullRequest { draft: None };
    let commands = press(&mut model, key(KeyCode::Char('y')));
    let expected = Action::ask(&TaskId::new("k3f9"), ask);
    assert!(
        matches!(commands.as_slice(), [Command::Act(_, action)] if *action == expected),
        "{commands:?}"
    );
    receive(&mut model, vec![("k3f9", snapshot(7, None))]);
    assert!(has_key(&model, "show request"));
    let commands = press(&mut model, key(KeyCode::Char('P')));
    let url = String::from("https://github.com/ada/app/pull/7");
    let task = TaskId::new("k3f9");
    let expected = Action::Browse { task, url };
    assert!(
        matches!(commands.as_slice(), [Command::Act(_, action)] if *action == expected),
        "{commands:?}"
    );
}

#[test]
fn a_task_that_has_not_started_has_none_to_open() {
    let mut model = model();
    receive(&mut model, Vec::new());
    choose(&mut model, "q1q1");
    assert_eq!(press(&mut model, key(KeyCode::Char('P'))), []);
    assert_eq!(model.mode, Mode::Browse);
}

#[test]
fn the_help_explains_the_signs_only_where_they_are() {
    let mut model = model();
    choose(&mut model, "k3f9");
    update(&mut model, Message::Resized(120, 60));
    press(&mut model, key(KeyCode::Char('?')));
    let explained = |model: &Model| {
        let area = Rect::new(0, 0, 120, 60);
        let mut buffer = Buffer::empty(area);
        draw_on(model, area, &mut buffer);
        let text: String = buffer
            .content
            .iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect();
        text.contains("checks passed, failed, running") && text.contains("show request")
    };
    assert!(!explained(&model));
    receive(&mut model, vec![("k3f9", snapshot(7, None))]);
    assert!(explained(&model));
}
