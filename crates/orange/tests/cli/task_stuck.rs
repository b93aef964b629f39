//! `orange task stuck`.

use crate::support::Stage;

#[test]
fn the_reason_for_stuck_is_shown() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan
ask task update --status working
ask task stuck -m 'The key is missing'",
    );
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    for command in ["show", "history", "why"] {
        let output = stage.run_ok(&["task", command, "fix"]);
        assert!(
            output.contains("saying: The key is missing"),
            "{command}: {output}"
        );
    }
    let (_, shown) = stage.json(&["task", "show", "fix", "--json"]);
    assert_eq!(shown["why"]["message"], "The key is missing");
}
