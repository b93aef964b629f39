//! Reading a diff: what is on screen decides where a key leads.

use orange_engine::names::TaskId;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;

use super::sample::{choose, control, diff_file, key, model, press};
use crate::tui::model::Model;
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::diff::File;
use crate::tui::model::message::Message;
use crate::tui::model::mode::Mode;
use crate::tui::update::update;
use crate::tui::view::draw_on;

/// Two hunks of ten lines.
fn file(path: &str) -> File {
    let lines: String = (0..10).fold(String::new(), |all, it| all + &format!("+{path}{it}\n"));
    diff_file(path, &format!("@@ 1\n{lines}@@ 2\n{lines}"))
}

pub fn load(model: &mut Model, files: Vec<File>) {
    let task = TaskId::new("k3f9");
    let message = Message::Loaded(task, Tab::Diff, Content::Files(files));
    update(model, message);
}

/// A diff alone on a screen with twenty lines for it.
pub fn reading(files: Vec<File>) -> Model {
    let mut model = model();
    choose(&mut model, "k3f9");
    update(&mut model, Message::Resized(80, 24));
    press(&mut model, key(KeyCode::Char('3')));
    press(&mut model, key(KeyCode::Char('v')));
    load(&mut model, files);
    model
}

/// The lines of the diff on screen.
pub fn screen(model: &Model) -> Vec<String> {
    let area = Rect::new(0, 0, model.width, model.height);
    let mut buffer = Buffer::empty(area);
    draw_on(model, area, &mut buffer);
    let line = |y| {
        let cells = (0..area.width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (2..area.height - 2).map(line).collect()
}

fn cursor_line(model: &Model) -> String {
    let lines = screen(model);
    let at_cursor = lines.iter().find(|it| it.starts_with('▌'));
    at_cursor.map_or_else(String::new, |it| it[3..].to_owned())
}

#[test]
fn the_next_file_is_the_one_after_what_is_on_screen() {
    let mut model = reading(vec![file("a"), file("b"), file("c"), file("d")]);
    for _ in 0..5 {
        press(&mut model, control('d'));
    }
    assert!(screen(&model)[0].starts_with("▾ c"), "{:?}", screen(&model));
    press(&mut model, key(KeyCode::Char(']')));
    assert!(screen(&model)[0].starts_with("▾ d"), "{:?}", screen(&model));
    press(&mut model, key(KeyCode::Char('[')));
    assert!(screen(&model)[0].starts_with("▾ c"));
    press(&mut model, key(KeyCode::Char('j')));
    press(&mut model, key(KeyCode::Char('[')));
    assert!(screen(&model)[0].starts_with("▾ c"), "its own start");
    press(&mut model, key(KeyCode::Char('[')));
    assert!(screen(&model)[0].starts_with("▾ b"));
}

#[test]
fn hunks_are_visited_one_by_one_below_their_file() {
    let mut model = reading(vec![file("a"), file("b")]);
    let mut visited = Vec::new();
    for _ in 0..4 {
        press(&mut model, key(KeyCode::Char('}')));
        let lines = screen(&model);
        visited.push(format!(
            "{} {}",
            &lines[0]["▾ ".len()..][..1],
            &lines[1]["▌".len()..]
        ));
    }
    assert_eq!(visited, ["a @@ 1", "a @@ 2", "b @@ 1", "b @@ 2"]);
    press(&mut model, key(KeyCode::Char('{')));
    assert_eq!(screen(&model)[1], "▌@@ 1");
}

#[test]
fn the_file_on_screen_is_named_and_the_cursor_never_leaves_the_screen() {
    let mut model = reading(vec![file("a"), file("b")]);
    for key_code in ['j', 'k'] {
        for _ in 0..50 {
            press(&mut model, key(KeyCode::Char(key_code)));
            let lines = screen(&model);
            assert!(lines[0].starts_with('▾'), "{lines:?}");
            let on_heading = model.detail.diff.cursor().is_multiple_of(23);
            assert!(
                on_heading || lines.iter().any(|it| it.starts_with('▌')),
                "{lines:?}"
            );
        }
    }
    assert_eq!(model.detail.diff.cursor(), 0);
    press(&mut model, key(KeyCode::Char('G')));
    assert_eq!(cursor_line(&model), "+b9");
}

#[test]
fn long_lines_wrap_or_scroll_sideways() {
    let long = format!("+{}end", "0123456789".repeat(12));
    let mut model = reading(vec![diff_file("a", &format!("@@ 1\n{long}\n+short"))]);
    let lines = screen(&model);
    assert!(
        lines[3].ends_with("end") && lines[4] == " +short",
        "{lines:?}"
    );
    press(&mut model, key(KeyCode::Char('W')));
    let lines = screen(&model);
    assert!(
        lines[2].ends_with('…') && lines[3] == " +short",
        "{lines:?}"
    );
    for _ in 0..20 {
        press(&mut model, key(KeyCode::Right));
    }
    let lines = screen(&model);
    assert!(
        lines[2].starts_with(" +") && lines[2].ends_with("end"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("@@ 1"), "{lines:?}");
    for _ in 0..20 {
        press(&mut model, key(KeyCode::Char('h')));
    }
    assert!(screen(&model)[2].starts_with(" +0123"));
}

#[test]
fn a_line_higher_than_the_screen_can_be_read_to_its_end() {
    let long = format!("+{}end", "0123456789".repeat(300));
    let mut model = reading(vec![diff_file("a", &format!("{long}\n+short"))]);
    let mut seen = false;
    for _ in 0..60 {
        press(&mut model, key(KeyCode::Char('j')));
        seen |= screen(&model).iter().any(|it| it.ends_with("end"));
    }
    assert!(seen, "{:?}", screen(&model));
    assert_eq!(cursor_line(&model), "+short");
}

#[test]
fn the_cursor_stays_on_its_line_when_the_diff_changes() {
    let mut model = reading(vec![file("a"), file("b")]);
    press(&mut model, key(KeyCode::Char('}')));
    press(&mut model, key(KeyCode::Char('}')));
    press(&mut model, key(KeyCode::Char('j')));
    press(&mut model, key(KeyCode::Char('j')));
    assert_eq!(cursor_line(&model), "+a1");
    let more = diff_file("a", "@@ 0\n+first\n+second");
    let mut changed = file("a");
    changed.lines.splice(0..0, more.lines);
    load(&mut model, vec![file("0"), changed, file("b")]);
    assert_eq!(cursor_line(&model), "+a1");
    load(&mut model, vec![file("b")]);
    assert_eq!(screen(&model)[0].split_whitespace().nth(1), Some("b"));
    load(&mut model, Vec::new());
    press(&mut model, key(KeyCode::Char(']')));
}

#[test]
fn a_diff_that_is_not_on_screen_takes_no_keys() {
    let mut model = reading(vec![file("a"), file("b")]);
    // There is room only for the list or only for the view.
    update(&mut model, Message::Resized(60, 15));
    press(&mut model, key(KeyCode::Char('j')));
    press(&mut model, key(KeyCode::Char('s')));
    press(&mut model, key(KeyCode::Char('v')));
    let before = screen(&model);
    assert!(before.iter().any(|it| it.contains("k3f9")), "{before:?}");
    let view = |model: &Model| format!("{:?}", model.detail);
    let seen = view(&model);
    for code in ['J', 'K', ']', '}', 's', 'V', 'W', 'l'] {
        press(&mut model, key(KeyCode::Char(code)));
        assert_eq!(view(&model), seen, "{code}");
    }
    press(&mut model, control('d'));
    assert_eq!(view(&model), seen);
    press(&mut model, key(KeyCode::Char(' ')));
    assert_eq!(model.list.marked().len(), 1);
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(model.list.marked().len(), 0, "Esc is a key of the list");
    choose(&mut model, "k3f9");
    load(&mut model, vec![file("a")]);
    press(&mut model, key(KeyCode::Char('c')));
    assert!(matches!(model.mode, Mode::Create(_)), "{:?}", model.mode);
}

#[test]
fn a_comment_is_offered_only_if_the_file_has_lines() {
    let footer = |model: &Model| {
        let area = Rect::new(0, 0, model.width, model.height);
        let mut buffer = Buffer::empty(area);
        draw_on(model, area, &mut buffer);
        let cells = (0..area.width).map(|x| buffer[(x, area.height - 1)].symbol());
        cells.collect::<String>()
    };
    let empty = diff_file("empty.txt", "");
    let lines = "@@ -0,0 +1,2 @@\n+one\n+two\n";
    let mut model = reading(vec![empty, diff_file("a", lines)]);
    assert!(!footer(&model).contains("comment"), "{}", footer(&model));
    press(&mut model, key(KeyCode::Char('c')));
    let notice = model.notice.as_ref().map(|it| it.text.as_str());
    assert_eq!(notice, Some("this file has no lines to comment on"));
    press(&mut model, key(KeyCode::Char('G')));
    assert!(footer(&model).contains("comment"), "{}", footer(&model));
}
