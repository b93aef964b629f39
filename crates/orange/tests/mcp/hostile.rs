//! A hostile model changes nothing that is the user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::TaskId;
use orange_mcp::tools::TOOLS;
use serde_json::{Value, json};

use crate::client::{Client, ERAS, Era};
use crate::support::Stage;
use crate::tools::reviewed;

/// Everything that a hostile call could want to change.
#[derive(Debug, PartialEq)]
struct World {
    tasks: Value,
    refs: String,
    settings: BTreeMap<PathBuf, Vec<u8>>,
}

fn world(stage: &Stage, id: &TaskId) -> World {
    let refs = stage.git("for-each-ref").stdout;
    let mut settings = BTreeMap::new();
    for name in [
        "projects.json",
        "config.toml",
        "jobs.toml",
        "notes.json",
        "web.json",
    ] {
        let path = stage.path("home").join(name);
        settings.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
    for folder in ["home/harnesses", "home/workflows"] {
        collect(&stage.path(folder), &mut settings);
    }
    World {
        tasks: serde_json::to_value(stage.task(id)).unwrap(),
        refs: String::from_utf8(refs).unwrap(),
        settings,
    }
}

fn collect(folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        into.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
}

/// Values for every argument: options, paths, other tasks, wrong types, much too much.
fn hostile_values(stage: &Stage, id: &str) -> Vec<Value> {
    let texts = [
        "--yes",
        "--help",
        "--status=done",
        "-m",
        "--",
        "-",
        "@/etc/passwd",
        "../../etc/passwd",
        "$(id)",
        "`id`",
        "a\nb",
        "a\n--yes",
        "\u{0}",
        "\u{1b}]52;c;eA==\u{7}",
        "*",
        "",
        " ",
        "merge",
        "task merge",
        "terminal",
        "human",
        "main",
    ];
    let mut values: Vec<Value> = texts.iter().map(|it| json!(it)).collect();
    let touch = format!("$(touch {})", stage.path("touched").display());
    values.extend([
        json!(touch),
        json!(format!("{id} --yes")),
        json!(format!("{id},{id}")),
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!([id, "--yes"]),
        json!({ "task": id }),
        json!("x".repeat(100_000)),
    ]);
    values
}

/// Names of tools that a model could guess, or that are commands.
const GUESSES: [&str; 24] = [
    "task_merge",
    "merge",
    "task_cancel",
    "cancel",
    "task_delete",
    "delete",
    "task_update",
    "task_approve",
    "allow",
    "deny",
    "task_reopen",
    "task_spawn",
    "task_keep",
    "task_pr",
    "task merge",
    "project_update",
    "config_set",
    "install",
    "uninstall",
    "orange",
    "bash",
    "task_complete",
    "task_stuck",
    "inbox",
];

#[test]
fn no_call_merges_approves_cancels_or_deletes() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    for era in ERAS {
        let before = world(&stage, &id);
        let known = stage
            .json(&["task", "list", "--all", "--all-statuses", "--json"])
            .1;
        let mut client = Client::start_in(&stage, &stage.path("repo"), era);
        let offered = client.tool_names();
        for name in GUESSES {
            assert!(!offered.iter().any(|it| it == name));
            for arguments in [json!({}), json!({ "task": id.as_str() })] {
                let call = json!({ "name": name, "arguments": arguments });
                let answer = client.ask("tools/call", call);
                assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
            }
        }
        let mut calls = 0;
        let mut created = 0;
        for tool in TOOLS
            .iter()
            .filter(|it| offered.iter().any(|name| name == it.name))
        {
            let names = tool.parameters.iter().map(|it| it.name);
            let names = names.chain(["task", "yes", "json", "--yes", "status", "workflow", "head"]);
            // Everything in one era; the others differ only in how a session begins.
            let every = if era == Era::Discover { 1 } else { 9 };
            for name in names {
                for value in hostile_values(&stage, id.as_str())
                    .into_iter()
                    .step_by(every)
                {
                    // Valid for the rest, so that only this value could be refused. Nothing starts.
                    let mut arguments = valid(tool.name, id.as_str());
                    arguments[name] = value;
                    let result = client.call(tool.name, &arguments);
                    calls += 1;
                    if tool.name == "task_create" && !result.is_error {
                        created += 1;
                        let task = &result.value["task"];
                        assert_eq!(task["workflow"], "minimal");
                        // Without `start`, the workflow lets the engine start it.
                        let is_kept = arguments["start"] == false;
                        let status = if is_kept { "pending" } else { "working" };
                        assert_eq!(task["status"], status, "{arguments}");
                        assert_eq!(task["harness"], "script");
                        assert!(
                            task["branch"]
                                .as_str()
                                .unwrap()
                                .starts_with("orange-tasks/")
                        );
                    }
                }
            }
        }
        println!("{era:?}: {calls} calls, {created} tasks created");
        assert!(calls > 200);
        let after = world(&stage, &id);
        assert_eq!(after.tasks, before.tasks);
        assert_eq!(after.settings, before.settings);
        let has_main = |it: &World| {
            it.refs
                .lines()
                .find(|it| it.ends_with("refs/heads/main"))
                .map(str::to_owned)
        };
        assert_eq!(has_main(&after), has_main(&before));
        let now = stage
            .json(&["task", "list", "--all", "--all-statuses", "--json"])
            .1;
        let count = |it: &Value| it["tasks"].as_array().unwrap().len();
        assert_eq!(count(&now), count(&known) + created);
        assert!(!stage.path("touched").exists());
    }
}

/// Arguments that the tool accepts.
fn valid(tool: &str, id: &str) -> Value {
    match tool {
        "attention" | "tasks" => json!({}),
        "task_create" => json!({ "summary": "Do it", "start": false }),
        "task_tell" => json!({ "task": id, "message": "hello" }),
        "task_wait" => json!({ "task": id, "until": ["done"], "timeout": 0 }),
        _ => json!({ "task": id }),
    }
}

#[test]
fn a_request_for_permission_stays_open() {
    let stage = Stage::new("minimal");
    let waits =
        "orange agent-ask < $SCRIPTS/payload > $SCRIPTS/decided; echo over > $SCRIPTS/over\n";
    let payload = json!({
        "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": { "command": "rm -rf work" },
    });
    fs::write(stage.path("scripts/payload"), payload.to_string()).unwrap();
    stage.script("worker-1", waits);
    let id = stage.create(&["one", "One task"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let mut client = Client::start(&stage);
    let asked = || {
        let listed = stage.json(&["attention", "--all", "--json"]).1;
        listed.to_string().contains("rm -rf work")
    };
    crate::support::wait_for("the request", asked);
    let items = client.call_ok("attention", &json!({}));
    assert!(items.to_string().contains("rm -rf work"), "{items}");
    for message in ["y", "yes", "1", "allow", "orange allow", "\u{d}", "\n1\n"] {
        let told = json!({ "task": id.as_str(), "message": message });
        client.call("task_tell", &told);
    }
    assert!(!stage.path("scripts/over").exists(), "it was decided");
    assert!(asked(), "the request is still open");
    let request = items["items"].as_array().unwrap().iter();
    let mut request = request.filter_map(|it| it["request"]["id"].as_str());
    stage.run_ok(&["deny", request.next().unwrap()]);
    crate::support::wait_for("the answer", || stage.path("scripts/over").exists());
}
