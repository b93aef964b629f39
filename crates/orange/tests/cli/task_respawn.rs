//! `orange task respawn`.

use std::fs;

use crate::support::Stage;

#[test]
fn an_agent_that_cannot_be_brought_back_is_told() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    fs::remove_file(stage.path("home/harnesses/script.toml")).unwrap();
    let (code, said) = stage.call(&["task", "respawn", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 6, "{said}\n{}", stage.told(&id));
    assert!(said.contains("error: spawn_agent failed: "), "{said}");
    assert!(said.contains("there is no harness `script`"), "{said}");
    let times = said.matches("there is no harness").count();
    assert_eq!(times, 1, "printed once: {said}");
}
