//! `orange task cancel`.

use crate::support::{Stage, Terminal};

#[test]
fn cancel_asks_for_confirmation_at_a_terminal() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let terminal = Terminal::start(&stage, "no", 120, "orange task cancel fix");
    terminal.wait_for("Cancel ");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let confirmed = Terminal::start(&stage, "yes", 120, "orange task cancel fix --yes");
    let screen = confirmed.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    // Without a terminal there is no confirmation prompt.
    let other = stage.create(&["other", "Another"]);
    stage.run_ok(&["task", "cancel", "other"]);
    assert_eq!(stage.task(&other).status.as_str(), "cancelled");
}
