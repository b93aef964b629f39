//! A dashboard with something in every zone.

use std::collections::BTreeMap;

use orange_driver::{ChildCount, DiffSize, ListChange, TaskRow, TaskSummary};
use orange_engine::attention::Need;
use orange_engine::document::SectionName;
use orange_engine::evidence::Evidence;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Kind, Trigger};
use orange_engine::names::{
    CommitId, HarnessName, ProjectName, RunId, Status, TaskId, WorkflowName,
};
use orange_engine::next_step::NextStep;
use orange_engine::refusal::{Blocker, GateFailure};
use orange_engine::role::Role;
use orange_engine::task::{Run, RunState, Submission};
use orange_engine::time::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::model::command::Command;
use crate::tui::model::diff::{DiffLine, File, LineKind};
use crate::tui::model::list::List;
use crate::tui::model::message::Message;
use crate::tui::model::{Model, Supervision};
use crate::tui::theme::Theme;
use crate::tui::update::update;

pub fn now() -> Timestamp {
    Timestamp::parse("2026-11-15T14:30:00Z").unwrap()
}

fn minutes_ago(minutes: i64) -> Timestamp {
    Timestamp::from_millis(now().millis() - minutes * 60_000)
}

pub fn row(id: &str, status: &str, kind: Kind, summary: &str) -> TaskRow {
    TaskRow {
        id: TaskId::new(id),
        project: ProjectName::new("app"),
        status: Status::new(status),
        kind: Some(kind),
        need: None,
        working_roles: Vec::new(),
        respawnable: Vec::new(),
        branch: format!("feature/{id}"),
        summary: summary.to_owned(),
        round: 0,
        entered_at: Some(minutes_ago(5)),
        attention: Vec::new(),
        runs: BTreeMap::new(),
        children: ChildCount::default(),
        parent: None,
    }
}

pub fn with_worker(mut row: TaskRow, state: RunState) -> TaskRow {
    let run = Run {
        id: RunId::new(format!("run-{}", row.id)),
        headless: false,
        plans: false,
        state,
    };
    row.runs.insert(Role::Worker, run);
    row
}

pub fn way(to: &str, verbs: &[Verb]) -> NextStep {
    let is_merge = verbs.contains(&Verb::Merge);
    NextStep {
        to: Some(Status::new(to)),
        trigger: if is_merge {
            Trigger::Merged
        } else {
            Trigger::Request
        },
        happens_when: None,
        by: vec![Role::Human],
        passed: Vec::new(),
        missing: Vec::new(),
        unchecked: Vec::new(),
        command: None,
        verbs: verbs.to_vec(),
        accepts_message: verbs.contains(&Verb::RequestChanges),
    }
}

pub fn glance(ways: Vec<NextStep>) -> TaskSummary {
    TaskSummary {
        harness: HarnessName::new("claude"),
        workflow: WorkflowName::new("default"),
        ways,
        rounds: Some(2),
        respawn: None,
        is_cancelled: false,
        question: None,
        unread: 0,
        submission: None,
    }
}

pub fn rows() -> Vec<TaskRow> {
    let mut reviewing = with_worker(
        row("k3f9", "reviewing", Kind::Human, "Fix the login"),
        RunState::Alive,
    );
    reviewing.round = 1;
    let mut clarified = with_worker(
        row(
            "p2mm",
            "clarification",
            Kind::Human,
            "Which colour? 漢字 שלום 🦀",
        ),
        RunState::Alive,
    );
    clarified.need = Some(Need::Question);
    let mut troubled = with_worker(
        row("t0rn", "working", Kind::Agent, "Move the old module out"),
        RunState::Ended {
            evidence: Evidence::Exit { code: 1 },
        },
    );
    troubled.attention = vec![String::from("notify_worker: no worker is there to read it")];
    let mut working = with_worker(
        row(
            "w0rk",
            "working",
            Kind::Agent,
            "Add a cache in front of the slow query, and measure it\nwith many rows",
        ),
        RunState::Alive,
    );
    working.children = ChildCount { ended: 1, all: 3 };
    let queued = row("q1q1", "pending", Kind::Queued, "Write the documentation");
    let mut other = row(
        "oth3",
        "pending",
        Kind::Queued,
        "Something in another project",
    );
    other.project = ProjectName::new("library");
    let ended = row("d0ne", "done", Kind::Terminal, "An old story");
    vec![
        reviewing, clarified, troubled, working, queued, other, ended,
    ]
}

/// A dashboard that has just read its tasks.
pub fn model() -> Model {
    let list = List::new(Some(ProjectName::new("app")), false);
    let mut model = Model::new(Theme::Dark, list, now());
    model.supervision = Supervision::Here;
    let change = ListChange {
        sequence: 7,
        is_whole: true,
        rows: rows(),
        gone: Vec::new(),
    };
    update(&mut model, Message::Changed(change));
    let seen =
        ["k3f9", "p2mm", "w0rk"].map(|id| (TaskId::new(id), orange_driver::AgentState::Alive));
    update(&mut model, Message::Agents(seen.into_iter().collect()));
    let cancel = || way("cancelled", &[Verb::Cancel]);
    let mut handoff = way("agent-review", &[]);
    handoff.by.push(Role::Worker);
    handoff.missing = vec![Blocker::GateFailed {
        failure: GateFailure::SectionMissing {
            section: SectionName::from_title("Handoff"),
            fields: vec![String::from("DONE")],
            verdict: None,
        },
    }];
    let glances = [
        (
            "k3f9",
            vec![
                way("working", &[Verb::RequestChanges]),
                way("done", &[Verb::Merge]),
                cancel(),
            ],
        ),
        ("p2mm", vec![way("planning", &[]), cancel()]),
        ("t0rn", vec![handoff.clone(), cancel()]),
        (
            "w0rk",
            vec![handoff, way("stuck", &[Verb::Stuck]), cancel()],
        ),
        ("q1q1", vec![way("planning", &[Verb::Spawn]), cancel()]),
        ("d0ne", Vec::new()),
    ];
    for (id, ways) in glances {
        let mut glance = glance(ways);
        glance.submission = (id == "k3f9").then(|| Submission {
            commit: CommitId::new("5d0c2f9e41ab"),
            passed_by: Some(Role::Reviewer),
            failed_by: None,
        });
        let message = Message::Glance(TaskId::new(id), Box::new(glance));
        update(&mut model, message);
    }
    let extent = DiffSize {
        commits: 3,
        files: 2,
        added: 120,
        removed: 4,
        head: None,
    };
    update(&mut model, Message::Extent(TaskId::new("k3f9"), extent));
    model
}

pub fn choose(model: &mut Model, id: &str) {
    model.list.select(&TaskId::new(id));
    update(model, Message::Tick(now()));
}

pub fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

pub fn control(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

/// Presses a key; returns the commands, except the one for gathering.
pub fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let commands = update(model, Message::Key(key)).into_iter();
    commands
        .filter(|it| !matches!(it, Command::Watch(_)))
        .collect()
}

pub fn enter(model: &mut Model, text: &str) {
    for letter in text.chars() {
        press(model, key(KeyCode::Char(letter)));
    }
}

/// A file of a diff, from lines with their signs.
pub fn diff_file(path: &str, text: &str) -> File {
    let mut number = 0;
    let line = |text: &str| {
        let kind = match text.as_bytes().first() {
            Some(b'@') => LineKind::Hunk,
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            _ => LineKind::Context,
        };
        number += u32::from(kind != LineKind::Hunk);
        DiffLine {
            kind,
            text: text[kind.sign().map_or(0, str::len)..].to_owned(),
            number: (kind != LineKind::Hunk).then_some(number),
        }
    };
    File {
        path: path.to_owned(),
        size: String::from("+2 -1"),
        digest: text.to_owned(),
        lines: text.lines().map(line).collect(),
    }
}
