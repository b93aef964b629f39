//! Tasks whose agents work without namespaces.

use std::fs;

use serde_json::json;

use crate::capabilities::without_bwrap;
use crate::stories::use_tools;
use crate::support::{PASS, PLAN_AND_WORK, Stage, log, way};

/// A stage on a machine without bwrap.
pub fn stage(workflow: &str) -> Stage {
    stage_with(workflow, "mode = \"auto\"\n")
}

pub fn stage_with(workflow: &str, settings: &str) -> Stage {
    let stage = without_bwrap(Stage::sandboxed(workflow));
    fs::write(stage.home().settings(), format!("[sandbox]\n{settings}")).unwrap();
    stage
}

/// Fails unless the agent that ran this was in a sandbox without namespaces.
pub fn prove(stage: &Stage) -> String {
    let root = stage.path("").display().to_string();
    let root = root.trim_end_matches('/');
    format!(
        "[ -n \"$ORANGE_SANDBOX_CALLS\" ] && ! cat {root}/secret 2>/dev/null && \
         ! touch {root}/repo/planted 2>/dev/null && ! ls {root}/home 2>/dev/null && \
         give proof < /dev/null\n"
    )
}

#[test]
fn a_task_goes_from_the_plan_to_the_merge() {
    let stage = stage("default");
    let root = stage.path("").display().to_string();
    let root = root.trim_end_matches('/').to_owned();
    let held = format!("! cat {root}/secret && ! touch {root}/repo/planted && ! orange task list");
    stage.configure(
        "setup",
        &json!(["sh", "-c", format!("{held} && echo x > ~/set-up")]),
    );
    stage.configure(
        "merge_verify",
        &json!(format!("{held} && git log -1 --format=%s")),
    );
    stage.script("worker-1", &format!("{}{PLAN_AND_WORK}", prove(&stage)));
    stage.script("reviewer-1", PASS);
    stage.script("worker-2", "ask inbox\ngive heard < /dev/null\n");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(stage.path("scripts/proof").exists(), "{}", stage.calls());
    let tasks = stage.home().tasks().join("app").join(id.as_str());
    assert!(tasks.join("commands/home/set-up").exists());
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"],
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(log(&stage, &id), ["one"]);
    let calls = stage.calls();
    assert!(!calls.contains("-> 1\n"), "{calls}");
    // The worker waits in its pane, and gets a message.
    let (_, shown) = stage.call(&["task", "show", id.as_str()]);
    assert!(shown.contains("worker: partial"), "{shown}");
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "one more thing"]);
    crate::support::wait_for("the message", || stage.path("scripts/heard").exists());
    stage.run_ok(&["task", "merge", id.as_str()]);
    stage.wait_for_status(&id, "done");
    stage.wait_until_idle(&id);
    let merged = stage.git("log -1 --format=%s main");
    assert_eq!(String::from_utf8_lossy(&merged.stdout).trim(), "one");
    assert!(!stage.path("repo/planted").exists());
}

#[test]
fn a_full_one_can_be_required() {
    let stage = stage_with("minimal", "mode = \"required\"\n");
    stage.script("worker-1", "give started < /dev/null\n");
    let id = stage.create(&["Add a line"]);
    let (code, answer) = stage.json(&["task", "spawn", id.as_str(), "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"sandbox-missing".into())
    );
    let text = answer["error"].to_string();
    for words in [
        "only a partial one",
        "bwrap is not installed",
        "`sandbox.mode`",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let (_, doctor) = stage.json(&["doctor", "--json"]);
    assert!(
        doctor.to_string().contains("agents do not start"),
        "{doctor}"
    );
    // A workflow requires it too, whatever the settings say.
    fs::write(stage.home().settings(), "[sandbox]\nmode = \"auto\"\n").unwrap();
    let workflows = stage.path("home/workflows");
    fs::create_dir_all(&workflows).unwrap();
    let text = include_str!("../../../../../workflows/minimal.yml");
    let text = text.replacen("name: minimal", "name: guarded", 1);
    fs::write(
        workflows.join("guarded.yml"),
        format!("{text}\nsandbox: full\n"),
    )
    .unwrap();
    let id = stage.create(&["Add a line", "--workflow", "guarded"]);
    let (_, said) = stage.call(&["task", "spawn", id.as_str()]);
    let (_, shown) = stage.call(&["task", "show", id.as_str()]);
    let shown = format!("{said} {shown}")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains("needs a full one"), "{shown}");
    assert!(!stage.path("scripts/started").exists());
}

#[test]
fn the_tools_of_mcp_make_the_calls_of_the_run() {
    let stage = stage("minimal");
    let prove = prove(&stage);
    use_tools(&stage, &prove);
}
