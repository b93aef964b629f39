//! Marks and comments in a diff.

use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::diff::{load, reading, screen};
use super::sample::{control, diff_file, enter, key, press};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::drafts::Drafts;
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Mode};
use crate::tui::model::review::Comment;
use crate::tui::update::update;

const LOGIN: &str = "@@ 1\n fn login() {\n-    old();\n+    new();\n }";

fn with_login() -> Model {
    reading(vec![
        diff_file("login.rs", LOGIN),
        diff_file("other.rs", "+x"),
    ])
}

/// What was saved last, as another dashboard loads it.
fn saved(commands: &[Command]) -> Drafts {
    let saved = commands.iter().rev().find_map(|it| match it {
        Command::SaveDrafts(drafts) => Some(drafts),
        _ => None,
    });
    let json = serde_json::to_string(saved.expect("nothing was saved")).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn comments(model: &Model) -> Vec<Comment> {
    let task = TaskId::new("k3f9");
    model.drafts.review(&task).comments.clone()
}

#[test]
fn a_viewed_file_is_folded_until_it_changes() {
    let mut model = with_login();
    press(&mut model, key(KeyCode::Char('j')));
    let commands = press(&mut model, key(KeyCode::Char('V')));
    let lines = screen(&model);
    assert!(
        lines[0].starts_with("▸ login.rs  +2 -1  ✓ viewed"),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("1/2, 1 viewed"), "{lines:?}");
    assert!(lines[1].starts_with("▾ other.rs"), "{lines:?}");
    // Another dashboard.
    let mut model = super::sample::model();
    model.drafts = saved(&commands);
    super::sample::choose(&mut model, "k3f9");
    press(&mut model, key(KeyCode::Char('3')));
    press(&mut model, key(KeyCode::Char('v')));
    load(&mut model, vec![diff_file("login.rs", LOGIN)]);
    assert!(screen(&model)[0].starts_with("▸ login.rs"));
    // The viewed file can be unfolded nevertheless.
    press(&mut model, key(KeyCode::Char(' ')));
    assert!(screen(&model)[0].contains("▾ login.rs  +2 -1  ✓ viewed"));
    press(&mut model, key(KeyCode::Char(' ')));
    load(&mut model, vec![diff_file("login.rs", "+changed")]);
    let lines = screen(&model);
    assert!(!lines[0].contains("viewed"), "{lines:?}");
    // Marked again, and the mark removed again.
    for (pressed, is_viewed) in [('V', true), ('V', false)] {
        press(&mut model, key(KeyCode::Char(pressed)));
        assert_eq!(screen(&model)[0].contains("viewed"), is_viewed);
    }
    assert_eq!(model.drafts, Drafts::default());
}

/// A file that became a link is removed and added under the same path.
#[test]
fn a_mark_belongs_to_one_of_two_files_with_the_same_path() {
    let mut model = reading(vec![
        diff_file("config", "-contents"),
        diff_file("config", "+target"),
    ]);
    press(&mut model, key(KeyCode::Char('j')));
    press(&mut model, key(KeyCode::Char('V')));
    let lines = screen(&model);
    assert!(lines[0].contains("✓ viewed"), "{lines:?}");
    assert!(lines[1].starts_with("▾ config"), "{lines:?}");
    assert!(!lines[1].contains("✓ viewed"), "{lines:?}");
}

/// Moves to the line with `new()` and comments on it and the line above.
fn comment_on_range(model: &mut Model) -> Vec<Command> {
    press(model, key(KeyCode::Char('}')));
    press(model, key(KeyCode::Char('j')));
    press(model, key(KeyCode::Char('j')));
    press(model, KeyEvent::new(KeyCode::Down, KeyModifiers::SHIFT));
    press(model, key(KeyCode::Char('c')));
    enter(model, "Keep the old name");
    press(model, control('s'))
}

#[test]
fn a_comment_on_a_range_is_shown_edited_and_kept() {
    let mut model = with_login();
    let commands = comment_on_range(&mut model);
    assert_eq!(model.mode, Mode::Browse);
    assert_eq!(commands, [], "it was saved while it was typed");
    let lines = screen(&model);
    let at = lines.iter().position(|it| it.contains("new();")).unwrap();
    assert_eq!(
        &lines[at + 1..at + 3],
        [" ┃on line 3:", " ┃Keep the old name"]
    );
    assert!(lines[0].contains("1 comment"), "{lines:?}");
    let comment = comments(&model).remove(0);
    assert_eq!(comment.place.quote, ["-    old();", "+    new();"]);
    assert_eq!(comment.place.path, "login.rs");
    // With the cursor on the comment, `c` opens it again.
    press(&mut model, key(KeyCode::Down));
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, ", please");
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(comments(&model)[0].text, "Keep the old name, please");
    // The lines are gone, and then the file: the comment is not.
    load(&mut model, vec![diff_file("login.rs", "+else")]);
    assert!(screen(&model)[1].contains("which the diff no longer has"));
    load(&mut model, vec![diff_file("other.rs", "+x")]);
    let lines = screen(&model);
    assert!(lines[2].contains("on login.rs, line 3,"), "{lines:?}");
    press(&mut model, key(KeyCode::Char('G')));
    press(&mut model, key(KeyCode::Char('c')));
    let commands = press(&mut model, control('x'));
    assert_eq!(saved(&commands), Drafts::default());
}

#[test]
fn a_heading_has_no_line_to_comment_on() {
    let mut model = with_login();
    press(&mut model, key(KeyCode::Char('c')));
    assert_eq!(model.mode, Mode::Browse);
    assert!(model.notice.is_some());
}

#[test]
fn all_comments_are_sent_as_one_request_and_kept_if_it_is_refused() {
    let mut model = with_login();
    comment_on_range(&mut model);
    press(&mut model, key(KeyCode::Char(']')));
    press(&mut model, key(KeyCode::Char('j')));
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, "Why x?");
    press(&mut model, key(KeyCode::Esc));
    let written = comments(&model);
    assert_eq!(written.len(), 2);
    let send = |model: &mut Model| {
        press(model, key(KeyCode::Char('r')));
        let Mode::Write(draft) = &model.mode else {
            panic!("{:?}", model.mode);
        };
        assert!(draft.title.contains("2 comments"), "{}", draft.title);
        let commands = press(model, control('s'));
        let task = TaskId::new("k3f9");
        let action = Action::ask(&task, RequestKind::Verb(Verb::RequestChanges));
        let action = action.with_comments(&written);
        match commands.as_slice() {
            [Command::Act(number, sent)] if *sent == action => *number,
            other => panic!("{other:?}"),
        }
    };
    let number = send(&mut model);
    let refused = ActionResult::Failed(Alert {
        title: String::from("Refused"),
        lines: Vec::new(),
        hints: Vec::new(),
        offer: None,
    });
    update(&mut model, Message::Answered(number, refused));
    press(&mut model, key(KeyCode::Esc));
    assert_eq!(comments(&model), written);
    let number = send(&mut model);
    // A comment that is written meanwhile is not sent, so it stays.
    press(&mut model, key(KeyCode::Char('c')));
    enter(&mut model, " And y?");
    press(&mut model, key(KeyCode::Esc));
    let done = ActionResult::Done {
        task: None,
        text: String::new(),
    };
    let commands = update(&mut model, Message::Answered(number, done));
    let left = comments(&model);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].text, "Why x? And y?");
    let task = TaskId::new("k3f9");
    assert_eq!(saved(&commands).review(&task).comments, left);
}
