//! `orange task cancel`.

use crate::support::{Stage, Terminal};

#[test]
fn a_person_at_a_terminal_is_asked_before_a_task_is_cancelled() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let asked = Terminal::start(&stage, "no", 120, "orange task cancel fix");
    asked.wait_for("Cancel ");
    asked.press(&["n", "Enter"]);
    let screen = asked.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let confirmed = Terminal::start(&stage, "yes", 120, "orange task cancel fix --yes");
    let screen = confirmed.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    // Without a terminal there is no confirmation prompt.
    let other = stage.create(&["other", "Another"]);
    stage.must(&["task", "cancel", "other"]);
    assert_eq!(stage.task(&other).status.as_str(), "cancelled");
}
