//! `orange task show`: agents that are dead or not visible.

use std::fs;

use serde_json::json;

use crate::support::{Stage, wait_for};

#[test]
fn a_death_that_nobody_judged_is_shown_and_changes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.script("worker-1", "exit 3");
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
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
    let said = stage.must(&show);
    assert!(
        said.contains(
            "worker dead (exited with code 3), not handled yet: the next command that changes \
             the task handles it"
        ),
        "{said}"
    );
    let task = stage.task(&id);
    assert_eq!(task.version, version, "reads never write");
    assert!(task.runs.values().all(|run| run.state.is_live()));
    stage.must(&["task", "update", id.as_str(), "--summary", "Add two"]);
    let said = stage.must(&show);
    assert!(!said.contains("not handled yet"), "{said}");
}

#[test]
fn a_look_that_fails_is_shown_as_unknown() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
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
    let said = stage.must(&["task", "show", id.as_str()]);
    let (code, attached) = stage.call(&["task", "attach", id.as_str()]);
    fs::rename(&aside, &socket).unwrap();
    assert_eq!(shown["observations"][0]["state"], "unknown", "{shown}");
    let reason = shown["observations"][0]["reason"].as_str().unwrap();
    assert!(
        said.contains(&format!("worker unknown ({reason})")),
        "{said}"
    );
    assert_eq!(code, 4, "{attached}");
    assert!(!attached.contains("respawn"), "it may run: {attached}");
}
