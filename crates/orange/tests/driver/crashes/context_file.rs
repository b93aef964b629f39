//! A start that dies after the context file was written.

use std::fs;

use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::{Stage, wait_for};

#[test]
fn the_file_is_written_again_and_the_agent_starts_once() {
    let stage = Stage::new("autopilot");
    stage.script("worker-1", "hang");
    let id = stage.create(&["Add a file"]);
    let mark = "the context file is written";
    set_crash_marks(&stage, &[mark], &[0]);
    stage.run_ok(&["note", "add", "Written before the death."]);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the agent", || {
        stage.call(&["task", "update", id.as_str(), "--summary", "Add a file"]);
        stage.path("scripts/hangs").exists()
    });
    stage.wait_until_idle(&id);
    let reached = reached_marks(&stage);
    let is_mark = reached.iter().all(|it| it.ends_with(mark));
    assert!(is_mark && reached.len() == 2, "{reached:?}");
    let runs = stage.store().runs(&id).unwrap();
    assert_eq!(runs.len(), 1, "{}", stage.diagnostics(&id));
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let directory = directory.join("runs").join(runs[0].id.as_str());
    let file = fs::read_to_string(directory.join("CONTEXT.md")).unwrap();
    assert!(file.contains("- Written before the death."), "{file}");
}
