//! What is told: failed starts, unjudged deaths, what to do next.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::json;

use crate::stage::{Stage, wait_for};
use crate::stories::PLAN_AND_WORK;

impl Stage {
    /// The first run of a task has ended, whoever has noticed.
    fn wait_for_end(&self, id: &TaskId) {
        wait_for("the agent to go", || {
            let runs = self.store().runs(id).unwrap();
            let place = runs[0].place.clone().unwrap();
            !fs::exists(format!("/proc/{}", place.process.pid)).unwrap()
        });
    }
}

#[test]
fn a_start_that_fails_says_why_to_people_and_programs() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let id = stage.create(&["Add a line"]);
    let spawn = ["task", "spawn", id.as_str(), "--wait", "60"];
    let (code, said) = stage.call(&spawn);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("by now in `pending`"), "{said}");
    assert!(
        said.contains("error: acquire_workspace was given up: "),
        "{said}"
    );
    assert!(said.contains("setup.log"), "{said}");
    assert!(
        said.contains(&format!("hint: `orange task show {id}`")),
        "{said}"
    );
    stage.wait_for_rest(&id);
    let (code, answer) = stage.json(&["task", "spawn", id.as_str(), "--wait", "60", "--json"]);
    assert_eq!((code, &answer["outcome"]), (6, &"failed".into()));
    let given_up = answer["given_up"].as_array().unwrap();
    assert_eq!(given_up.len(), 1, "{answer}");
    assert_eq!(given_up[0]["effect"], "acquire_workspace");
    let error = given_up[0]["error"].as_str().unwrap();
    assert!(error.contains("setup.log"), "{error}");

    // What went wrong before does not make a start fail that succeeds.
    stage.wait_for_rest(&id);
    stage.configure("setup", &json!([]));
    let (code, answer) = stage.json(&["task", "spawn", id.as_str(), "--wait", "60", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &"happened".into()));
    assert_eq!(answer["given_up"].as_array().unwrap().len(), 0, "{answer}");
}

#[test]
fn a_start_that_waits_for_a_workspace_or_is_on_the_default_branch_says_why() {
    let stage = Stage::new("default");
    stage.configure("pool_size", &1.into());
    let first = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", first.as_str(), "--wait", "60"]);
    let second = stage.create(&["Add another"]);
    let (code, said) = stage.call(&["task", "spawn", second.as_str(), "--wait", "60"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("the pool of project `app` is full"), "{said}");
    assert_eq!(stage.task(&second).status.as_str(), "pending");

    stage.configure("pool_size", &4.into());
    let third = stage.create(&["Add a third", "--branch", "main"]);
    let (code, said) = stage.call(&["task", "spawn", third.as_str(), "--wait", "60"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("`main` is the default branch"), "{said}");
}

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
    assert!(said.contains("error: spawn_agent was given up: "), "{said}");
    assert!(said.contains("there is no harness `script`"), "{said}");
    let times = said.matches("there is no harness").count();
    assert_eq!(times, 1, "said once: {said}");
}

#[test]
fn a_death_that_nobody_judged_is_shown_and_changes_nothing() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.script("worker-1", "exit 3");
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let show = ["task", "show", id.as_str()];
    let show_json = ["task", "show", id.as_str(), "--json"];
    wait_for("the death to be seen", || {
        stage.json(&show_json).1["seen"][0]["seen"] == "dead"
    });
    let (_, shown) = stage.json(&show_json);
    assert_eq!(
        shown["seen"][0]["evidence"],
        json!({ "cause": "exit", "code": 3 })
    );
    assert_eq!(shown["seen"][0]["role"], "worker");
    let version = stage.task(&id).version;
    let said = stage.must(&show);
    assert!(
        said.contains(
            "worker dead (exited with code 3), not judged yet: the next command that changes \
             the task does"
        ),
        "{said}"
    );
    let task = stage.task(&id);
    assert_eq!(task.version, version, "reads never write");
    assert!(task.runs.values().all(|run| run.state.is_live()));
    stage.must(&["task", "update", id.as_str(), "--summary", "Add two"]);
    let said = stage.must(&show);
    assert!(!said.contains("not judged yet"), "{said}");
}

#[test]
fn a_look_that_fails_is_shown_as_unknown() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let show_json = ["task", "show", id.as_str(), "--json"];
    assert_eq!(stage.json(&show_json).1["seen"][0]["seen"], "alive");
    let socket = stage.home().tmux_socket();
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).unwrap();
    let (_, shown) = stage.json(&show_json);
    let said = stage.must(&["task", "show", id.as_str()]);
    let (code, attached) = stage.call(&["task", "attach", id.as_str()]);
    fs::rename(&aside, &socket).unwrap();
    assert_eq!(shown["seen"][0]["seen"], "unknown", "{shown}");
    let reason = shown["seen"][0]["reason"].as_str().unwrap();
    assert!(
        said.contains(&format!("worker unknown ({reason})")),
        "{said}"
    );
    assert_eq!(code, 4, "{attached}");
    assert!(!attached.contains("respawn"), "it may run: {attached}");
}

#[test]
fn attaching_to_nobody_names_the_way_that_is_open() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let attach = ["task", "attach", id.as_str()];
    let (code, said) = stage.call(&attach);
    assert_eq!(code, 4, "{said}");
    assert!(
        said.contains(&format!("`orange task spawn {id}`")),
        "{said}"
    );

    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.tmux(&["kill-server"]);
    stage.wait_for_end(&id);
    let (code, said) = stage.call(&attach);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("went away with its tmux server"), "{said}");
    assert!(
        said.contains(&format!("`orange task respawn {id}`")),
        "{said}"
    );
    let shown = stage.must(&["task", "show", id.as_str()]);
    assert!(
        shown.contains("worker dead (went away with its tmux server), not judged yet"),
        "{shown}"
    );

    stage.must(&["task", "cancel", id.as_str(), "--wait", "60"]);
    let (code, said) = stage.call(&attach);
    assert_eq!(code, 4, "{said}");
    assert!(!said.contains("spawn"), "an ended task has no way: {said}");
}

#[test]
fn hints_are_for_who_asked() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ask task merge --strategy squash --local");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls().replace("\n      ", " ");
    assert!(
        calls.contains(&format!(
            "`orange task merge {id} --strategy squash --local`"
        )),
        "{calls}"
    );
    assert!(!calls.contains("--yes"), "{calls}");
    let (code, said) = stage.call(&["task", "merge", id.as_str(), "--strategy", "squash"]);
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains(&format!("orange task merge {id} --strategy squash --yes")),
        "{said}"
    );
}

#[test]
fn a_worker_is_told_to_wait_for_the_reviewer() {
    let stage = Stage::new("default");
    let asks = "ask task update --status reviewing\n";
    stage.script("worker-1", &format!("{PLAN_AND_WORK}{asks}"));
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["Add a line"]);
    stage.must(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert!(calls.contains("hint: wait for the reviewer"), "{calls}");
    assert!(!calls.contains("Verdict: PASS"), "{calls}");
}

#[test]
fn a_missing_harness_says_where_it_was_looked_for() {
    let stage = Stage::new("default");
    let (code, said) = stage.call(&["task", "create", "--harness", "nobody", "Add a line"]);
    assert_eq!(code, 3, "{said}");
    let folder = stage.home().harnesses();
    assert!(
        said.contains(&format!("in `{}`", folder.display())),
        "{said}"
    );
    assert!(said.contains("orange project add --harness NAME"), "{said}");
}
