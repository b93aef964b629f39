//! Every view at every size, as drawn.

use std::fmt::Write as _;

use insta::assert_snapshot;
use orange_driver::{ListChange, WorkspaceInfo};
use orange_engine::activity::ActivityState;
use orange_engine::evidence::Evidence;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::task::RunState;
use orange_engine::usage::{Cost, RunUsage, Usage};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};

use super::permission::{receive, request};
use super::sample::{
    choose, control, diff_file, enter, glance, key, model, press, row, with_worker,
};
use crate::tui::model::demo::Demo;
use crate::tui::model::detail::{Content, Screen, Tab};
use crate::tui::model::list::List;
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::model::{Choices, Model, TaskDefaults};
use crate::tui::theme::{Theme, Tone};
use crate::tui::update::update;
use crate::tui::view::draw_on;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];

fn render(model: &Model) -> Buffer {
    let area = Rect::new(0, 0, model.width, model.height);
    let mut buffer = Buffer::empty(area);
    draw_on(model, area, &mut buffer);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        let mut x = buffer.area.left();
        while x < buffer.area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character also takes the next cell.
            x += u16::try_from(crate::output::display_width(symbol))
                .unwrap()
                .max(1);
        }
        assert!(
            crate::output::display_width(&line) <= usize::from(buffer.area.width),
            "{line}"
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Every part of a line that has a style of its own.
fn styles(buffer: &Buffer) -> String {
    let mut message = String::new();
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut parts: Vec<(String, String)> = Vec::new();
        for x in buffer.area.left()..buffer.area.right() {
            let cell = &buffer[(x, y)];
            let mut style = String::new();
            if cell.fg != Color::Reset {
                write!(style, "{:?}", cell.fg).unwrap();
            }
            if cell.bg != Color::Reset {
                write!(style, " on {:?}", cell.bg).unwrap();
            }
            if cell.modifier != Modifier::empty() {
                write!(style, " {:?}", cell.modifier).unwrap();
            }
            match parts.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => parts.push((style, cell.symbol().to_owned())),
            }
        }
        let parts = parts.iter().filter(|(style, text)| {
            !style.is_empty() && (!text.trim().is_empty() || style.contains("REVERSED"))
        });
        for (style, text) in parts {
            writeln!(message, "{y}: {style}: {}", text.trim()).unwrap();
        }
    }
    message
}

/// Snapshots a view at every size. Its text must be the same in every palette, and the plain one
/// must have no colour.
fn snapshot(name: &str, model: &Model) {
    let mut all = String::new();
    for (width, height) in SIZES {
        let mut sized = model.clone();
        update(&mut sized, Message::Resized(width, height));
        let dark = text(&render(&sized));
        for theme in [Theme::Light, Theme::Plain] {
            sized.theme = theme;
            let buffer = render(&sized);
            assert_eq!(text(&buffer), dark, "{name} reads differently in {theme:?}");
            let is_plain =
                |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
            assert!(
                theme != Theme::Plain || buffer.content.iter().all(is_plain),
                "{name} has colour"
            );
        }
        writeln!(all, "{width}x{height}\n{dark}").unwrap();
    }
    assert_snapshot!(name, all);
    for (theme, word) in [
        (Theme::Dark, "dark"),
        (Theme::Light, "light"),
        (Theme::Plain, "plain"),
    ] {
        let mut model = model.clone();
        model.theme = theme;
        update(&mut model, Message::Resized(80, 24));
        assert_snapshot!(format!("{name}_{word}"), styles(&render(&model)));
    }
}

fn model_in_review() -> Model {
    let mut model = model();
    choose(&mut model, "k3f9");
    model
}

/// Lines as the gatherers make them, without colours.
fn plain(texts: &[&str]) -> Vec<Line<'static>> {
    let texts = texts.iter();
    texts.map(|text| Line::from((*text).to_owned())).collect()
}

#[test]
fn the_list_and_a_terminal() {
    let mut model = model_in_review();
    let lines = plain(&["$ cargo test", "running 12 tests", "", "> "]);
    let screen = Content::Screen(Screen {
        lines,
        cursor: Some((2, 3)),
        caption: String::from("worker"),
        is_running: true,
    });
    update(
        &mut model,
        Message::Loaded(TaskId::new("k3f9"), Tab::Terminal, screen),
    );
    snapshot("terminal", &model);
}

#[test]
fn an_agent_that_has_exited_says_which_key_starts_it_again() {
    let shown = |lines: &[&str], evidence: Evidence| {
        let mut model = model();
        let row = row("t0rn", "working", Kind::Agent, "Move the old module out");
        let row = with_worker(row, RunState::Ended { evidence });
        let change = ListChange {
            sequence: 8,
            is_whole: false,
            rows: vec![row],
            gone: Vec::new(),
        };
        update(&mut model, Message::Changed(change));
        choose(&mut model, "t0rn");
        let mut glance = glance(Vec::new());
        glance.respawn = Some(orange_engine::role::Role::Worker);
        let task = TaskId::new("t0rn");
        update(&mut model, Message::Glance(task.clone(), Box::new(glance)));
        let screen = Content::Screen(Screen {
            lines: plain(lines),
            cursor: None,
            caption: String::from("worker, ended"),
            is_running: false,
        });
        update(&mut model, Message::Loaded(task, Tab::Terminal, screen));
        text(&render(&model))
    };
    let blank = shown(&["", "   ", ""], Evidence::Exit { code: 1 });
    assert!(blank.contains("It left nothing on its screen."), "{blank}");
    assert!(blank.contains("\n Enter starts it again."), "{blank}");
    let written = shown(&["the last words", ""], Evidence::Exit { code: 1 });
    assert!(written.contains("the last words"), "{written}");
    let sentence = "The agent has exited. Enter starts it again.";
    assert!(written.contains(sentence), "{written}");
    let stopped = shown(&["the last words"], Evidence::Stopped);
    let sentence = "You stopped the agent. Enter starts it again.";
    assert!(stopped.contains(sentence), "{stopped}");
}

#[test]
fn without_a_task_in_the_list_nothing_is_loading() {
    let mut model = model_in_review();
    update(&mut model, Message::Resized(80, 24));
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "nothing like this");
    let shown = text(&render(&model));
    assert!(shown.contains("Nothing matches."), "{shown}");
    assert!(!shown.contains("loading"), "{shown}");
}

#[test]
fn the_end_of_the_demo() {
    let mut model = model_in_review();
    model.demo = Some(Demo::new(&[TaskId::new("d0ne")]));
    update(&mut model, Message::Tick(super::sample::now()));
    snapshot("demo_over", &model);
    press(&mut model, key(KeyCode::Esc));
    let all = super::sample::rows().into_iter();
    let gone = all.map(|row| row.id).filter(|id| id.as_str() != "d0ne");
    let change = ListChange {
        sequence: 8,
        is_whole: false,
        rows: Vec::new(),
        gone: gone.collect(),
    };
    update(&mut model, Message::Changed(change));
    snapshot("demo_over_list", &model);
}

#[test]
fn a_terminal_has_its_own_colours() {
    let mut model = model_in_review();
    let red = Theme::Dark.style(Tone::Bad);
    let line = Line::from(vec![Span::raw("plain "), Span::styled("red", red)]);
    let screen = Content::Screen(Screen {
        lines: vec![line],
        cursor: None,
        caption: String::new(),
        is_running: true,
    });
    update(
        &mut model,
        Message::Loaded(TaskId::new("k3f9"), Tab::Terminal, screen),
    );
    update(&mut model, Message::Resized(80, 24));
    assert!(
        styles(&render(&model)).contains("Red BOLD: red"),
        "{}",
        styles(&render(&model))
    );
}

#[test]
fn task_timeline_and_workflow_views() {
    for (tab, name, lines) in [
        (
            Tab::Task,
            "task",
            plain(&["## Plan", "", "APPROACH: do it", "TOUCHING: a.rs"]),
        ),
        (
            Tab::Timeline,
            "timeline",
            plain(&["11-15 14:29  from `a` to `b`: requested by the worker"]),
        ),
        (
            Tab::Workflow,
            "workflow",
            plain(&["in `reviewing`", "  → done, when the branch is merged"]),
        ),
    ] {
        let mut model = model_in_review();
        press(&mut model, key(KeyCode::Char(char::from(b'1' + tab as u8))));
        update(
            &mut model,
            Message::Loaded(TaskId::new("k3f9"), tab, Content::Lines(lines)),
        );
        snapshot(name, &model);
    }
}

#[test]
fn a_difference_with_a_folded_file() {
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('3')));
    let file = |path: &str| diff_file(path, "@@ -1,2 +1,3 @@\n one\n-two\n+zwei\n+drei");
    let files = vec![file("src/login.rs"), file("src/session.rs")];
    update(
        &mut model,
        Message::Loaded(TaskId::new("k3f9"), Tab::Diff, Content::Files(files)),
    );
    press(&mut model, key(KeyCode::Char(' ')));
    press(&mut model, key(KeyCode::Char(']')));
    snapshot("diff", &model);
}

#[test]
fn the_first_run() {
    let list = List::new(Some(ProjectName::new("app")), false);
    let mut model = Model::new(Theme::Dark, list, super::sample::now());
    snapshot("reading", &model);
    let nothing = ListChange {
        sequence: 0,
        is_whole: true,
        rows: Vec::new(),
        gone: Vec::new(),
    };
    update(&mut model, Message::Changed(nothing));
    snapshot("first_run", &model);
}

#[test]
fn marked_tasks() {
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char(' ')));
    choose(&mut model, "q1q1");
    press(&mut model, key(KeyCode::Char(' ')));
    snapshot("marked", &model);
    press(&mut model, key(KeyCode::Char('m')));
    snapshot("merge_marked", &model);
    press(&mut model, key(KeyCode::Esc));
    press(&mut model, key(KeyCode::Char('i')));
    enter(&mut model, "Rebase, please");
    snapshot("write_marked", &model);
}

#[test]
fn questions_answers_and_menus() {
    let mut asking = model_in_review();
    press(&mut asking, key(KeyCode::Char('m')));
    snapshot("merge", &asking);
    let mut asking = model_in_review();
    press(&mut asking, key(KeyCode::Char('x')));
    snapshot("cancel", &asking);
    let mut alerted = model_in_review();
    alerted.mode = Mode::Alert(Alert {
        title: String::from("Refused: moving k3f9 to agent-review"),
        lines: vec![String::from(
            "cannot move task `k3f9` from `working` to `agent-review`: `## Handoff` is missing in \
             TASK.md",
        )],
        hints: vec![String::from(
            "add `## Handoff` with at least one of DONE, REMAINING, DECISIONS, UNCERTAIN, then run \
             `orange task update --status agent-review`",
        )],
        offer: None,
    });
    snapshot("told", &alerted);
    for (name, letter) in [("moves", 't'), ("filter", 'f'), ("help", '?')] {
        let mut model = model_in_review();
        press(&mut model, key(KeyCode::Char(letter)));
        snapshot(name, &model);
    }
    let mut palette = model_in_review();
    press(&mut palette, key(KeyCode::Char(':')));
    enter(&mut palette, "wo");
    snapshot("palette", &palette);
}

#[test]
fn a_request_for_permission() {
    let mut model = model();
    choose(&mut model, "w0rk");
    let long = format!("cargo build && \\\n\tgit push {}\n", "x".repeat(100));
    let long = long + &"echo another line\n".repeat(30) + "rm -rf the-end";
    receive(&mut model, vec![request("one111", &long)]);
    press(&mut model, key(KeyCode::Char('p')));
    snapshot("permission", &model);
}

#[test]
fn the_workspaces() {
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('w')));
    let found = WorkspaceInfo {
        name: WorkspaceName::new("app--1"),
        project: ProjectName::new("app"),
        number: 1,
        path: "/home/me/orange/workspaces/app--1".into(),
        state: "bound",
        task: Some(TaskId::new("k3f9")),
        port_offset: Some(10),
        exists: true,
        disk_bytes: None,
    };
    update(&mut model, Message::Workspaces(Ok(vec![found.clone()])));
    snapshot("workspaces", &model);
    // The columns line up, however long the other names are.
    let named = |name: &str| WorkspaceInfo {
        name: WorkspaceName::new(name),
        ..found.clone()
    };
    let all = vec![named("app--1"), named("the-billing-service--12")];
    update(&mut model, Message::Workspaces(Ok(all)));
    update(&mut model, Message::Resized(120, 40));
    let drawn = text(&render(&model));
    let before = drawn.lines().filter_map(|line| line.split_once(" bound "));
    let columns = before.map(|(before, _)| crate::output::display_width(before));
    let columns: Vec<usize> = columns.collect();
    assert!(columns.len() == 2 && columns[0] == columns[1], "{drawn}");
}

#[test]
fn texts_that_are_typed() {
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('r')));
    enter(&mut model, "Smaller commits, please");
    snapshot("write", &model);
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, "Measure it");
    press(&mut model, key(KeyCode::Tab));
    press(&mut model, key(KeyCode::Tab));
    snapshot("create", &model);
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('/')));
    enter(&mut model, "cache");
    snapshot("search", &model);
}

#[test]
fn the_form_names_what_applies_if_nothing_is_chosen() {
    let mut model = model_in_review();
    let defaults = TaskDefaults {
        harness: Some(String::from("bot")),
        workflow: String::from("minimal"),
    };
    let choices = Choices {
        projects: vec![String::from("shop")],
        here: Some(String::from("shop")),
        defaults: [(String::from("shop"), defaults)].into(),
        ..Choices::default()
    };
    update(&mut model, Message::Choices(choices));
    press(&mut model, key(KeyCode::Char('c')));
    let shown = text(&render(&model));
    for line in ["project   shop", "harness   bot", "workflow  minimal"] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn an_answer_shows_its_question() {
    let mut model = model();
    choose(&mut model, "p2mm");
    let entry = model.list.entry_mut(&TaskId::new("p2mm")).unwrap();
    let mut glance = glance(Vec::new());
    glance.question = Some(String::from("1. Which line?\n2. Why \u{1b}[31m?"));
    entry.glance = Some(glance);
    press(&mut model, key(KeyCode::Char('i')));
    snapshot("answer", &model);
    for height in [0, 1, 2, 3, 4, 7, 22, 40] {
        update(&mut model, Message::Resized(60, height));
        render(&model);
    }
}

#[test]
fn other_arrangements_of_the_list() {
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('a')));
    press(&mut model, key(KeyCode::Char('b')));
    snapshot("by_project", &model);
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('a')));
    let trouble = String::from("cannot list changed tasks: database is locked");
    update(&mut model, Message::ListError(Some(trouble)));
    snapshot("trouble", &model);
    let mut model = model_in_review();
    press(&mut model, key(KeyCode::Char('i')));
    enter(&mut model, "hello");
    press(&mut model, control('s'));
    snapshot("doing", &model);
    let result = ActionResult::Done {
        task: None,
        text: String::from("k3f9: reviewing → working"),
    };
    update(&mut model, Message::Answered(1, result));
    snapshot("done", &model);
}

#[test]
fn no_size_is_too_small_to_draw() {
    let mut model = model_in_review();
    for mode in ["", "?", "c", "t", "r", ":", "/", "w", "f", "m"] {
        press(&mut model, key(KeyCode::Esc));
        if let Some(letter) = mode.chars().next() {
            press(&mut model, key(KeyCode::Char(letter)));
        }
        for width in [0, 1, 2, 5, 12, 30, 59, 70, 119, 120] {
            for height in [0, 1, 2, 3, 4, 7, 22, 40] {
                update(&mut model, Message::Resized(width, height));
                render(&model);
            }
        }
    }
}

#[test]
fn agent_activity_views() {
    let mut model = model();
    let activities = [
        ("k3f9", ActivityState::Idle),
        ("p2mm", ActivityState::Unknown),
        ("w0rk", ActivityState::WaitingForPermission),
    ];
    let activities = activities.map(|(id, doing)| (TaskId::new(id), doing));
    update(
        &mut model,
        Message::Activity(activities.into_iter().collect()),
    );
    snapshot("said", &model);
    for (state, note) in [
        (ActivityState::Silent, "silent"),
        (ActivityState::Stalled, "stalled"),
    ] {
        let activities = [(TaskId::new("w0rk"), state)];
        let activities = Message::Activity(activities.into_iter().collect());
        update(&mut model, activities);
        let shown = text(&render(&model));
        assert!(shown.contains(note), "{shown}");
    }
}

#[test]
fn what_agents_used_is_shown_where_there_is_room() {
    let run = |tokens, dollars| RunUsage {
        input_tokens: Some(tokens),
        output_tokens: Some(0),
        cost: Cost::from_dollars(dollars),
        ..RunUsage::default()
    };
    let usage = |run: &RunUsage| {
        let mut usage = Usage::default();
        usage.add_run(run, 720, false);
        usage
    };
    let mut model = model();
    let usages = [
        (TaskId::new("k3f9"), usage(&run(12_300, 0.5))),
        (TaskId::new("w0rk"), usage(&RunUsage::default())),
        (TaskId::new("d0ne"), usage(&run(1_000_000, 90.0))),
    ];
    update(&mut model, Message::Usage(usages.into_iter().collect()));
    let at = |model: &mut Model, width| {
        update(model, Message::Resized(width, 24));
        text(&render(model))
    };
    let wide = at(&mut model, 240);
    let line = |id: &str| {
        let row = format!("● {id}");
        wide.lines().find(|it| it.contains(&row)).unwrap()
    };
    assert!(line("k3f9").contains("12.3k $0.50 12m"), "{wide}");
    assert!(line("w0rk").contains("? 12m"), "{wide}");
    // The finished task is not shown, so it is not in the total.
    let header = wide.lines().next().unwrap();
    assert!(header.contains("used ≥12.3k ≥$0.50 24m"), "{wide}");
    let narrow = at(&mut model, 80);
    assert!(!narrow.contains("12.3k"), "{narrow}");
}
