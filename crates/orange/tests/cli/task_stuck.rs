//! `orange task stuck`.

use crate::support::Stage;

#[test]
fn what_was_said_with_stuck_is_shown() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan
ask task update --status working
ask task stuck -m 'The key is missing'",
    );
    let id = stage.create(&["fix", "Fix it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    for command in ["show", "history", "why"] {
        let said = stage.must(&["task", command, "fix"]);
        assert!(
            said.contains("saying: The key is missing"),
            "{command}: {said}"
        );
    }
    let (_, shown) = stage.json(&["task", "show", "fix", "--json"]);
    assert_eq!(shown["why"]["message"], "The key is missing");
}
