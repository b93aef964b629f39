//! A conversation belongs to the worktree in which it was begun.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::{Stage, wait_for};

/// How the scripted agent starts headless, and where it prints the id of its conversation.
const HEADLESS: &str = r#"
[args.headless]
full = ["--prompt-file", "{prompt_file}", "--headless", ["{resumed_id}"]]

[result]
session_id = [{ keys = ["id"] }]
"#;

/// An attempt that begins a conversation and reports nothing.
const VANISH: &str = "echo '{\"id\":\"s-7\"}'\nexit 0\n";

fn staged() -> Stage {
    let stage = Stage::new("autopilot");
    stage.configure("pool_size", &4.into());
    let path = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{HEADLESS}")).unwrap();
    stage
}

fn spawn(stage: &Stage, id: &TaskId) {
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

/// A task whose first attempt has ended without a report.
fn after_an_attempt(stage: &Stage) -> TaskId {
    stage.script("worker-1", VANISH);
    let id = stage.create(&["Add a line"]);
    spawn(stage, &id);
    wait_for("the end of the attempt", || {
        stage.call(&["task", "update", id.as_str(), "--summary", "Add a line"]);
        let task = stage.task(&id);
        task.status.as_str() == "new" && task.pending.is_empty()
    });
    id
}

fn resumed(stage: &Stage) -> String {
    wait_for("the next attempt", || {
        stage.path("scripts/resumed").exists()
    });
    fs::read_to_string(stage.path("scripts/resumed")).unwrap()
}

/// The directory of a task's last run.
fn directory(stage: &Stage, id: &TaskId) -> String {
    let run = stage.store().runs(id).unwrap().pop().unwrap();
    run.setup.unwrap().directory.display().to_string()
}

#[test]
fn lesson_30_a_conversation_is_resumed_only_in_its_own_worktree() {
    let again = "echo \"$argument\" | give resumed\nhang\n";
    let stage = staged();
    let id = after_an_attempt(&stage);
    let first = directory(&stage, &id);
    stage.script("worker-2", again);
    spawn(&stage, &id);
    assert_eq!(resumed(&stage), "s-7\n");
    assert_eq!(directory(&stage, &id), first);

    // Another task has taken the worktree: an agent that went on there would change its files.
    let stage = staged();
    let id = after_an_attempt(&stage);
    let first = directory(&stage, &id);
    stage.script("worker-2", "hang\n");
    stage.script("worker-3", again);
    let other = stage.create(&["--branch", "other", "Add two lines"]);
    spawn(&stage, &other);
    assert_eq!(directory(&stage, &other), first);
    spawn(&stage, &id);
    assert_ne!(directory(&stage, &id), first);
    assert_eq!(resumed(&stage), "\n");
}
