//! What the user has typed survives other dashboards and a damaged file.

use std::fs;

use super::{open, process, signal};
use crate::support::{Stage, Terminal, wait_for};

#[test]
fn damaged_drafts_are_set_aside_and_reported() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let drafts = stage.home().drafts();
    let damaged = "{\"task\": {\"summary\": \"A long te";
    fs::write(&drafts, damaged).unwrap();
    let terminal = open_with_alert(&stage);
    terminal.wait_for("draft-damaged-1.json");
    terminal.press(&["Escape"]);
    wait_for("the end of the dialog", || {
        !terminal.screen().contains("Drafts not read")
    });
    // The same happens to a file that is damaged while the dashboard is open.
    fs::write(&drafts, "nonsense").unwrap();
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "Paint the door"]);
    let kept = |number: u32| {
        let name = format!("draft-damaged-{number}.json");
        fs::read_to_string(stage.home().path().join(name))
    };
    wait_for("the saved draft", || {
        fs::read_to_string(&drafts).is_ok_and(|it| it.contains("Paint the door"))
    });
    assert_eq!(kept(1).unwrap(), damaged);
    assert_eq!(kept(2).unwrap(), "nonsense");
}

fn open_with_alert(stage: &Stage) -> Terminal<'_> {
    let terminal = Terminal::start(stage, "dash", 100, "orange ");
    terminal.resize(100, 30);
    terminal.wait_for("Drafts not read");
    terminal
}

#[test]
fn drafts_are_saved_by_one_dashboard_at_a_time() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let drafts = stage.home().drafts();
    let terminal = open(&stage);
    let held = stage.driver().requests.open_drafts().unwrap();
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "Paint the door"]);
    terminal.wait_for("Paint the door");
    assert!(!drafts.exists(), "the lock is held");
    held.write("{\"messages\": {\"x\": \"of another dashboard\"}}")
        .unwrap();
    drop(held);
    wait_for("both drafts", || {
        let saved = fs::read_to_string(&drafts).unwrap_or_default();
        saved.contains("Paint the door") && saved.contains("of another dashboard")
    });
    // What could not be read again is not written either.
    let held = stage.driver().requests.open_drafts().unwrap();
    let before = fs::read(&drafts).unwrap();
    let error = held.write(&"x".repeat(16 * 1024 * 1024)).unwrap_err();
    assert!(
        error.to_string().contains("more than 16777216 bytes"),
        "{error}"
    );
    assert_eq!(fs::read(&drafts).unwrap(), before);
}

#[test]
fn a_comment_of_another_dashboard_is_shown() {
    let stage = Stage::new("default");
    let id = super::create_reviewed_task(&stage);
    let terminal = open(&stage);
    terminal.wait_for("NEEDS YOU 1");
    terminal.press(&["3"]);
    terminal.wait_for("fixed");
    let comment = serde_json::json!({
        "path": "login.txt", "numbers": [1, 1], "is_old": false, "count": 1,
        "quote": ["+fixed"], "text": "really?",
    });
    let drafts = serde_json::json!({ "reviews": { id.as_str(): { "comments": [comment] } } });
    let held = stage.driver().requests.open_drafts().unwrap();
    held.write(&drafts.to_string()).unwrap();
    drop(held);
    terminal.wait_for("really?");
    // It is kept when this dashboard saves something.
    terminal.press(&["V"]);
    wait_for("the mark", || {
        let saved = fs::read_to_string(stage.home().drafts()).unwrap();
        saved.contains("viewed\":{\"login.txt") && saved.contains("really?")
    });
}

#[test]
fn a_task_being_typed_survives_an_interrupt_and_a_killed_dashboard() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "Paint the door"]);
    terminal.press(&["Tab"]);
    terminal.press(&["-l", "and the window"]);
    terminal.wait_for("and the window");
    terminal.press(&["C-c"]);
    let end = terminal.finish();
    assert!(end.contains("[exit 0]"), "{end}");

    let reopen = |name| {
        let terminal = Terminal::start(&stage, name, 100, "orange ");
        terminal.resize(100, 30);
        terminal.wait_for("? help");
        terminal.press(&["c"]);
        terminal.wait_for("New task");
        terminal
    };
    let terminal = reopen("second");
    terminal.wait_for("Paint the door");
    terminal.wait_for("and the window");
    terminal.press(&["-l", ", today"]);
    terminal.wait_for("Paint the door, today");
    // Each letter is saved by another thread, soon after it is shown.
    wait_for("the saved draft", || {
        let saved = fs::read_to_string(stage.home().drafts());
        saved.is_ok_and(|it| it.contains("Paint the door, today"))
    });
    signal("KILL", process(&stage));
    terminal.finish();

    let terminal = reopen("third");
    terminal.wait_for("Paint the door, today");
    terminal.wait_for("and the window");
    terminal.press(&["C-s"]);
    terminal.wait_for("RUNNING 1");
    let listed = stage.call(&["task", "list"]).1;
    assert!(listed.contains("Paint the door, today"), "{listed}");
    // What was sent is no draft any more.
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    let screen = terminal.screen();
    assert!(!screen.contains("and the window"), "{screen}");
}
