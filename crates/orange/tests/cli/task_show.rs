//! `orange task show`: agents that are dead or not visible.

use std::fs;

use serde_json::json;

use crate::support::{Stage, wait_for};

#[test]
fn an_unprocessed_death_is_shown_and_changes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.script("worker-1", "exit 3");
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let show = ["task", "show", id.as_str()];
    let show_json = ["task", "show", id.as_str(), "--json"];
    wait_for("the death to be seen", || {
        stage.json(&show_json).1["observations"][0]["state"] == "dead"
    });
    let (_, shown) = stage.json(&show_json);
    assert_eq!(
        shown["observations"][0]["evidence"],
        json!({ "cause": "exit", "code": 3 })
    );
    assert_eq!(shown["observations"][0]["role"], "worker");
    let version = stage.task(&id).version;
    let output = stage.run_ok(&show);
    assert!(
        output.contains(
            "worker dead (exited with code 3), not handled yet: the next command that changes \
             the task handles it"
        ),
        "{output}"
    );
    let task = stage.task(&id);
    assert_eq!(task.version, version, "reads never write");
    assert!(task.runs.values().all(|run| run.state.is_live()));
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two"]);
    let output = stage.run_ok(&show);
    assert!(!output.contains("not handled yet"), "{output}");
}

#[test]
fn a_failed_check_is_shown_as_unknown() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let show_json = ["task", "show", id.as_str(), "--json"];
    assert_eq!(
        stage.json(&show_json).1["observations"][0]["state"],
        "alive"
    );
    let socket = stage.home().tmux_socket();
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).unwrap();
    let (_, shown) = stage.json(&show_json);
    let output = stage.run_ok(&["task", "show", id.as_str()]);
    let (code, attached) = stage.call(&["task", "attach", id.as_str()]);
    fs::rename(&aside, &socket).unwrap();
    assert_eq!(shown["observations"][0]["state"], "unknown", "{shown}");
    let reason = shown["observations"][0]["reason"].as_str().unwrap();
    assert!(
        output.contains(&format!("worker unknown ({reason})")),
        "{output}"
    );
    assert_eq!(code, 4, "{attached}");
    assert!(!attached.contains("respawn"), "it may run: {attached}");
}
