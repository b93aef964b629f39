//! `orange task respawn`.

use std::fs;

use crate::support::Stage;

#[test]
fn an_agent_that_cannot_be_respawned_is_reported() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    fs::remove_file(stage.path("home/harnesses/script.toml")).unwrap();
    let (code, output) = stage.call(&["task", "respawn", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 6, "{output}\n{}", stage.diagnostics(&id));
    assert!(output.contains("error: spawn_agent failed: "), "{output}");
    assert!(output.contains("there is no harness `script`"), "{output}");
    let times = output.matches("there is no harness").count();
    assert_eq!(times, 1, "printed once: {output}");
}

#[test]
fn an_agent_that_was_lost_with_an_unread_message_is_respawned() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.call(&["task", "tell", id.as_str(), "-m", "hello", "--wait", "0"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    stage.run_ok(&["task", "respawn", "--lost", "--wait", "60"]);
    stage.wait_for_turn("worker-2");
    assert_eq!(stage.panes(), ["worker:0"]);
}
