//! In a run, the tools are about its own task.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::client::{Client, ERAS, Era, in_lines, opening, request, tool_result};
use crate::support::{Stage, wait_for};

const ERA: Era = Era::Session("2025-06-18");

/// Writes requests for a client in the run of an agent: the opening, the list, and these calls.
fn write_requests(stage: &Stage, name: &str, calls: &[(&str, Value)]) {
    let mut lines = opening(ERA);
    lines.push(request(ERA, 1, "tools/list", json!({})));
    for (number, (tool, arguments)) in (10..).zip(calls) {
        let params = json!({ "name": tool, "arguments": arguments });
        lines.push(request(ERA, number, "tools/call", params));
    }
    fs::write(stage.path("scripts").join(name), in_lines(&lines)).unwrap();
}

/// The answer with this id.
fn answer(text: &str, id: u64) -> Value {
    let answers = text
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap());
    let mut found = answers.filter(|it| it["id"] == id);
    found
        .next()
        .unwrap_or_else(|| panic!("no answer {id} in {text}"))
}

fn names(text: &str) -> Vec<String> {
    let listed = answer(text, 1);
    let tools = listed["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{listed}"));
    tools
        .iter()
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

const OF_RUNS: [&str; 9] = [
    "task_show",
    "task_why",
    "task_diff",
    "task_history",
    "task_logs",
    "task_create",
    "task_complete",
    "task_stuck",
    "inbox",
];

fn started(stage: &Stage) -> TaskId {
    let id = stage.create(&["one", "One task"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    id
}

fn given(stage: &Stage, name: &str) -> String {
    let path = stage.path("scripts").join(name);
    wait_for(name, || path.exists());
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_sees_its_own_task_and_no_other() {
    let stage = Stage::new("minimal");
    let other = stage.create(&["other", "Other task"]);
    let mut calls = vec![
        ("task_show", json!({})),
        ("inbox", json!({})),
        (
            "task_create",
            json!({ "summary": "A child", "start": false }),
        ),
    ];
    for tool in [
        "task_show",
        "task_why",
        "task_diff",
        "task_history",
        "task_logs",
        "task_complete",
        "task_stuck",
    ] {
        let mut arguments = json!({ "task": other.as_str() });
        if tool == "task_stuck" {
            arguments["message"] = json!("help");
        }
        calls.push((tool, arguments));
    }
    calls.push((
        "task_create",
        json!({ "summary": "A child", "parent": other.as_str() }),
    ));
    let guesses = ["attention", "tasks", "task_tell", "task_wait", "task_merge"];
    calls.extend(guesses.map(|it| (it, json!({ "task": other.as_str() }))));
    write_requests(&stage, "requests", &calls);
    // With and without the variables of the run, as clients pass them on.
    stage.script(
        "worker-1",
        "orange mcp < $SCRIPTS/requests 2>&1 | give with\n\
         orange=$(command -v orange)\n\
         env -i HOME=$HOME ORANGE_HOME=$ORANGE_HOME PATH=$PATH $orange mcp < $SCRIPTS/requests 2>&1 | give without\n\
         env ORANGE_TASK_ID=OTHER orange mcp < $SCRIPTS/requests 2>&1 | give lying\n\
         pause stop\n"
            .replace("OTHER", other.as_str())
            .as_str(),
    );
    let before = stage.task(&other);
    let id = started(&stage);
    let mut children = 0;
    for name in ["with", "without", "lying"] {
        let text = given(&stage, name);
        if name == "lying" {
            // Its variables contradict its process.
            assert!(!text.contains("Other task"), "{text}");
            continue;
        }
        assert_eq!(names(&text), OF_RUNS, "{name}");
        let shown = tool_result(&answer(&text, 10));
        assert_eq!(shown.value["task"]["id"], id.as_str(), "{name}");
        let created = tool_result(&answer(&text, 12));
        assert_eq!(
            created.value["events"][0]["parent"],
            id.as_str(),
            "{}",
            created.value
        );
        children += 1;
        for number in 13..=20 {
            let refused = tool_result(&answer(&text, number));
            assert_eq!(refused.code(), "parameter-invalid", "{name} {number}");
        }
        for number in 21..=25 {
            assert_eq!(answer(&text, number)["error"]["code"], -32602);
        }
        assert!(!text.contains("Other task"), "{text}");
    }
    assert_eq!(children, 2);
    assert_eq!(stage.task(&other), before);
    fs::write(stage.path("scripts/stop"), "").unwrap();
}

#[test]
fn a_worker_completes_its_task() {
    let stage = Stage::new("minimal");
    write_requests(&stage, "too-early", &[("task_complete", json!({}))]);
    write_requests(&stage, "done", &[("task_complete", json!({}))]);
    stage.script(
        "worker-1",
        "orange mcp < $SCRIPTS/too-early | give refused\n\
         commit Work\necho 'DONE: it' | section Handoff\n\
         orange mcp < $SCRIPTS/done | give completed\n",
    );
    let id = started(&stage);
    let refused = tool_result(&answer(&given(&stage, "refused"), 10));
    assert!(
        refused.value.to_string().contains("Handoff"),
        "{}",
        refused.value
    );
    assert_eq!(refused.code(), "refused");
    stage.wait_for_status(&id, "reviewing");
    let history = stage.json(&["task", "history", id.as_str(), "--json"]).1;
    let changed = history["events"].as_array().unwrap().iter();
    let by: Vec<String> = changed
        .map(ToString::to_string)
        .filter(|it| it.contains("reviewing"))
        .collect();
    assert!(by.iter().any(|it| it.contains("worker")), "{by:?}");
}

#[test]
fn a_worker_that_is_stuck_says_so() {
    let stage = Stage::new("default");
    let message = "--yes: which table? \u{1b}[2J";
    write_requests(
        &stage,
        "requests",
        &[("task_stuck", json!({ "message": message }))],
    );
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\nTOUCHING: b\\n' | section Plan\nask task update --status working\n\
         orange mcp < $SCRIPTS/requests | give answer\npause stop\n",
    );
    let id = started(&stage);
    let result = tool_result(&answer(&given(&stage, "answer"), 10));
    assert!(!result.is_error, "{}", result.whole);
    let shown = stage.json(&["task", "show", id.as_str(), "--json"]).1;
    assert!(shown.to_string().contains("which table?"), "{shown}");
    fs::write(stage.path("scripts/stop"), "").unwrap();
}

/// The directory alone makes no worker: the model in it may be the user's own chat.
#[test]
fn in_a_worktree_without_a_run_it_is_the_assistant() {
    let stage = Stage::new("minimal");
    let id = crate::tools::reviewed(&stage);
    let mut client = Client::start_in(&stage, &stage.worktree(&id), ERAS[0]);
    assert_eq!(client.tool_names().len(), 10);
    let created = client.call_ok(
        "task_create",
        &json!({ "summary": "Do it", "start": false }),
    );
    assert_eq!(created["events"][0]["by"], "assistant", "{created}");
    assert!(created["events"][0]["parent"].is_null(), "{created}");
}

/// A caller that cannot be identified gets no tools.
#[test]
fn a_wrong_proof_gets_nothing() {
    let stage = Stage::new("minimal");
    stage.create(&["one", "One task"]);
    let mut command = stage.orange(&["mcp"]);
    command
        .env("ORANGE_RUN_ID", "r-1")
        .env("ORANGE_RUN_PROOF", "wrong");
    let mut client = Client::of(command, ERAS[0]);
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["error"].is_object(), "{listed}");
    let refused = client.call("tasks", &json!({}));
    assert_eq!(refused.code(), "proof-invalid");
}
