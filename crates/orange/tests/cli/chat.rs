//! `orange chat`.

use std::fs;

use crate::support::Stage;

/// Seed 004, lines 182 to 188: talk, add tasks, check status; no worktree.
#[test]
fn an_agent_talks_in_this_terminal() {
    let stage = Stage::new("autopilot");
    let id = stage.create(&["Fix it"]);
    stage.script(
        "assistant-1",
        "pwd > $SCRIPTS/directory\ngive prompt < $prompt_file\nask task list\n\
         ask task create --branch new 'Another task' --no-spawn\nexit 0",
    );
    let status = stage.orange(&["chat"]).status().unwrap();
    assert!(status.success());
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    assert!(
        prompt.starts_with("You are the assistant of `orange chat`."),
        "{prompt}"
    );
    assert!(prompt.contains("## Without a TASK.md"), "{prompt}");
    let calls = stage.calls();
    assert!(calls.contains("orange task list -> 0"), "{calls}");
    assert!(calls.contains(id.as_str()), "{calls}");
    assert!(calls.contains("--no-spawn -> 0"), "{calls}");
    let listed = stage.run_ok(&["task", "list"]);
    assert!(listed.contains("Another task"), "{listed}");
    let directory = fs::read_to_string(stage.path("scripts/directory")).unwrap();
    assert!(!directory.contains("/workspaces/"), "{directory}");
}
