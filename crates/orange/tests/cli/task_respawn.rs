//! `orange task respawn`.

use std::fs;

use crate::support::{Stage, wait_for};

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
    wait_for("the agent", || stage.path("scripts/hangs").exists());
    stage.call(&["task", "tell", id.as_str(), "-m", "hello", "--wait", "0"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    stage.run_ok(&["task", "respawn", "--lost", "--wait", "60"]);
    stage.wait_for_turn("worker-2");
    assert_eq!(stage.panes(), ["worker:0"]);
}

#[test]
fn a_new_agent_ends_the_old_reason_why_a_message_was_undelivered() {
    let stage = Stage::new("default");
    stage.script("worker-1", "stty -echo; hang");
    stage.script("worker-2", "give prompt < \"$prompt_file\"; hang");
    let id = stage.create(&["Add a line", "--status", "reviewing"]);
    let respawn = ["task", "respawn", id.as_str(), "--role", "worker"];
    stage.run_ok(&respawn);
    wait_for("the worker", || stage.path("scripts/hangs").exists());
    let (_, _) = stage.call(&["task", "tell", id.as_str(), "--role", "worker", "-m", "hi"]);
    let problem = || {
        stage.store().inbox(&id).unwrap()[0]
            .delivery
            .problem
            .clone()
    };
    wait_for("an obstacle", || problem().is_some());
    stage.run_ok(&[
        "task",
        "stop",
        id.as_str(),
        "--role",
        "worker",
        "--wait",
        "60",
    ]);
    let reason = "no worker is running to read the message";
    wait_for("the failure", || {
        stage.driver().performer.perform(&id).unwrap();
        problem().as_deref() == Some(reason)
    });
    stage.run_ok(&respawn);
    wait_for("the next worker", || stage.path("scripts/prompt").exists());
    wait_for("its start to be recorded", || problem().is_none());
    let why = stage.run_ok(&["why", id.as_str()]);
    assert_eq!(why.matches(reason).count(), 1, "only in the history: {why}");
    assert!(why.contains("has not read it"), "{why}");
    let (_, attention) = stage.json(&["attention", "--all", "--json"]);
    assert!(!attention.to_string().contains(reason), "{attention}");
    // The message is not lost: the prompt mentions it.
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    assert!(prompt.contains("run orange inbox"), "{prompt}");
    assert!(stage.run_ok(&["inbox", id.as_str()]).contains("hi"));
}
