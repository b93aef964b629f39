//! Tasks whose agents work in a sandbox.

use std::fs;

use orange_effects::process::unreaped_exit;
use orange_engine::evidence::Evidence;
use serde_json::{Value, json};

use crate::fixture::processes_with;
use crate::support::{PLAN_AND_WORK, Stage, log, wait_for, way};

/// A stage whose agents are in a sandbox.
pub fn stage(workflow: &str) -> Stage {
    Stage::sandboxed(workflow)
}

/// Fails unless the agent that ran this was in a sandbox.
pub const PROVE: &str = "\
[ \"$(uname -n)\" = orange ] && [ ! -e ~/secret ] && [ ! -e ~/repo/work.txt ] && give proof < /dev/null
";

#[test]
fn a_task_is_worked_on_gets_a_message_and_ends() {
    let stage = stage("default");
    stage.script("worker-1", &format!("{PROVE}{PLAN_AND_WORK}"));
    stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\nfine\\n' | section Review\nask task update --status reviewing\n",
    );
    stage.script("worker-2", "ask inbox\ngive heard < /dev/null\n");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(
        stage.path("scripts/proof").exists(),
        "it was not in a sandbox"
    );
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"],
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(log(&stage, &id), ["one"]);
    let calls = stage.calls();
    assert!(!calls.contains("-> 1\n"), "{calls}");

    // A message reaches the agent that waits in its pane.
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "one more thing"]);
    wait_for("the message", || stage.path("scripts/heard").exists());
    wait_for("the answer of the inbox", || {
        stage.calls().contains("one more thing")
    });
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));

    let runs = stage.store().runs(&id).unwrap();
    stage.run_ok(&["task", "stop", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    for run in runs {
        let found = orange_effects::process::processes_of_run(&run.id).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_pane_ends_with_the_code_of_the_agent() {
    let stage = stage("minimal");
    stage.script("worker-1", &format!("{PROVE}commit one\nexit 7\n"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    // tmux 3.3a sometimes never learns how a pane ended, and then the process waits for it as a zombie.
    let ending = || {
        let format = "#{pane_dead}:#{pane_dead_status}:#{pane_pid}:#{pid}";
        let shown = stage.tmux(&["list-panes", "-a", "-F", format]);
        let number = |text: &str| text.trim().parse().unwrap();
        match shown.split(':').collect::<Vec<&str>>()[..] {
            ["1", "", pane, server] => unreaped_exit(number(pane), number(server)),
            ["1", code, ..] => Some(Evidence::Exit {
                code: code.parse().unwrap(),
            }),
            _ => None,
        }
    };
    wait_for("the end of the pane", || ending().is_some());
    assert_eq!(
        ending(),
        Some(Evidence::Exit { code: 7 }),
        "{}",
        stage.diagnostics(&id)
    );
    assert!(stage.path("scripts/proof").exists());
    // The commit arrives when orange looks next.
    stage.run_ok(&["task", "diff", id.as_str()]);
    assert_eq!(log(&stage, &id), ["one"]);
}

#[test]
fn a_call_ends_with_its_caller_and_variables_give_no_other_role() {
    let stage = stage("default");
    let other = stage.create(&["Another task"]);
    let wait = format!("orange task wait {other} --until done");
    stage.script(
        "worker-1",
        &format!(
            "{PROVE}{wait} & call=$!\necho $! | give call\npause stop\nkill -9 $call\n\
             give killed < /dev/null\n\
             export ORANGE_RUN_ID=x ORANGE_RUN_PROOF=y ORANGE_ROLE=human ORANGE_HOME=/tmp\n\
             export ORANGE_TASK_ID={other}\n\
             ask task update {other} --summary forged\nask task update --status working\n\
             ask task show {other}\nunset ORANGE_RUN_ID ORANGE_RUN_PROOF ORANGE_TASK_ID\n\
             ask task update --summary own\ngive asked < /dev/null\n"
        ),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the call", || processes_with(other.as_str()).len() >= 2);
    stage.script("stop", "");
    wait_for("the end of the call", || {
        stage.path("scripts/killed").exists() && processes_with(other.as_str()).is_empty()
    });
    wait_for("the other calls", || stage.path("scripts/asked").exists());
    let calls = stage.calls();
    assert_eq!(stage.task(&other).summary, "Another task", "{calls}");
    assert_eq!(stage.task(&id).summary, "own", "{calls}");
    assert_eq!(way(&stage, &id), ["planning"], "{calls}");
}

/// The worker of a task uses the tools of `orange mcp`, after it has run this.
pub fn use_tools(stage: &Stage, prove: &str) {
    let other = stage.create(&["Another task"]);
    let call = |id: u64, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let requests = [
        opening.clone(),
        list,
        call(2, "task_show", json!({})),
        call(3, "task_show", json!({ "task": other.as_str() })),
        call(4, "inbox", json!({})),
        call(
            5,
            "task_create",
            json!({ "summary": "A child", "start": false }),
        ),
        call(6, "task_merge", json!({ "task": other.as_str() })),
        call(7, "attention", json!({})),
    ];
    let lines = |requests: &[Value]| requests.iter().map(|it| it.to_string() + "\n").collect();
    let (first, last): (String, String) = (
        lines(&requests),
        lines(&[opening, call(2, "task_complete", json!({}))]),
    );
    stage.script("requests", &first);
    stage.script("last", &last);
    stage.script(
        "worker-1",
        &format!(
            "{prove}commit one\necho 'DONE: a line' | section Handoff\n\
             orange mcp < $SCRIPTS/requests | give answers\norange mcp < $SCRIPTS/last\n"
        ),
    );
    let before = stage.task(&other);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    assert!(stage.path("scripts/proof").exists(), "{}", stage.calls());
    let answers = fs::read_to_string(stage.path("scripts/answers")).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let answer = |id: u64| answers.iter().find(|it| it["id"] == id).unwrap();
    let tools = answer(1)["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 9, "{tools:?}");
    let content = |id: u64| &answer(id)["result"]["structuredContent"];
    assert_eq!(content(2)["task"]["id"], id.as_str(), "{}", answer(2));
    assert_eq!(answer(3)["result"]["isError"], true, "{}", answer(3));
    assert_eq!(content(4)["messages"], json!([]), "{}", answer(4));
    assert_eq!(
        content(5)["events"][0]["parent"],
        id.as_str(),
        "{}",
        answer(5)
    );
    for number in [6, 7] {
        assert_eq!(answer(number)["error"]["code"], -32602);
    }
    assert_eq!(stage.task(&other), before);
}

#[test]
fn the_tools_of_mcp_make_the_calls_of_the_run() {
    use_tools(&stage("minimal"), PROVE);
}
