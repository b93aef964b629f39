//! `orange task wait`.

use std::process::Stdio;

use crate::support::{RunningSupervisor, Stage, wait_for};

#[test]
fn wait_ends_when_the_status_is_reached_or_unreachable() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let wait = |until: &str, timeout: &str| {
        stage.transcript(&[
            "task",
            "wait",
            "fix",
            "--until",
            until,
            "--timeout",
            timeout,
        ])
    };
    let mut text = wait("pending,working", "60");
    text.push_str(&wait("human", "0"));
    text.push_str(&wait("nothing", "60"));
    // A waiting call notices what another call does.
    let mut orange = stage.orange(&["task", "wait", "fix", "--until", "clarification,terminal"]);
    let child = orange
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    text.push_str(&wait("terminal", "60"));
    text.push_str(&wait("human,working", "60"));
    insta::assert_snapshot!(text);
    let (code, answer) = stage.json(&["task", "wait", "fix", "--until", "cancelled", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &"reached".into()));
    assert_eq!(answer["task"]["id"], id.as_str());
    let usage = stage.transcript(&["task", "wait", "fix"]);
    assert!(usage.contains("[exit 2]"), "{usage}");
}

#[test]
fn it_is_the_users_turn_when_an_agent_has_failed_or_was_stopped() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    stage.script("worker-1", "hang");
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the agent", || stage.path("scripts/hangs").exists());
    let wait = ["task", "wait", "fix", "--until", "human", "--timeout", "0"];
    let (code, output) = stage.call(&wait);
    assert_eq!(code, 5, "{output}");
    stage.run_ok(&["task", "stop", "fix", "--wait", "60"]);
    stage.run_ok(&wait);

    for turn in 2..=5 {
        stage.script(&format!("worker-{turn}"), "exit 3");
    }
    let _serving = RunningSupervisor::start(&stage);
    stage.run_ok(&["task", "restart", "fix", "--wait", "60"]);
    let wait = ["task", "wait", "fix", "--until", "human", "--timeout", "60"];
    let told = stage.run_ok(&wait);
    assert!(told.contains("in `working`; it needs you: "), "{told}");
    assert_eq!(stage.task(&id).status.as_str(), "working");
}
