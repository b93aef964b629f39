//! Each tool is a command, and answers what the command answers.

use std::collections::BTreeSet;
use std::fs;

use orange_engine::names::TaskId;
use orange_mcp::tools::{OfferedTo, TOOLS, Tool, ToolEffect};
use serde_json::{Value, json};

use crate::client::{Client, ERAS};
use crate::schema_check::file;
use crate::support::{Stage, wait_for};

fn tool(name: &str) -> &'static Tool {
    TOOLS.iter().find(|it| it.name == name).unwrap()
}

/// A task that waits for the user's review, with a diff, messages and logs.
pub fn reviewed(stage: &Stage) -> TaskId {
    let works =
        "commit Change\necho 'DONE: it' | section Handoff\nask task update --status reviewing\n";
    stage.script("worker-1", works);
    let id = stage.create(&["one", "One task"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    id
}

#[test]
fn the_table_is_small_and_names_no_step_of_the_user() {
    let names: BTreeSet<&str> = TOOLS.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), TOOLS.len());
    assert!(TOOLS.len() <= 13);
    let commands: BTreeSet<&str> = TOOLS.iter().map(|it| it.command).collect();
    let expected = [
        "attention",
        "inbox",
        "task complete",
        "task create",
        "task diff",
        "task history",
        "task list",
        "task logs",
        "task show",
        "task stuck",
        "task tell",
        "task wait",
        "task why",
    ];
    assert_eq!(commands, BTreeSet::from(expected));
    for tool in TOOLS {
        let options = tool.parameters.iter().filter_map(|it| it.option);
        let words: Vec<&str> = tool.fixed.iter().copied().chain(options).collect();
        for forbidden in [
            "--yes",
            "--clear",
            "--trust",
            "--from",
            "--each",
            "--workflow",
            "--head",
        ] {
            assert!(!words.contains(&forbidden), "{}: {forbidden}", tool.name);
        }
        assert!(tool.description.len() < 300, "{}", tool.name);
        assert!(file(tool.shape).exists(), "{}", tool.shape);
        let is_change = matches!(
            tool.name,
            "task_create" | "task_tell" | "task_complete" | "task_stuck" | "inbox"
        );
        assert_eq!(tool.effect == ToolEffect::Adds, is_change, "{}", tool.name);
    }
    let of_runs = TOOLS.iter().filter(|it| it.offered_to == OfferedTo::Run);
    assert_eq!(of_runs.count(), 3);
}

#[test]
fn annotations_and_schemas_are_told() {
    let stage = Stage::new("minimal");
    let mut client = Client::start(&stage);
    let tools = client.tools();
    let size = Value::from(tools.clone()).to_string().len();
    println!("{} tools in {size} bytes", tools.len());
    assert!(size < 64 * 1024, "{size}");
    for listed in &tools {
        let own = tool(listed["name"].as_str().unwrap());
        let is_read = own.effect == ToolEffect::Reads;
        let annotations = &listed["annotations"];
        assert_eq!(annotations["readOnlyHint"], is_read, "{listed}");
        assert_eq!(annotations["destructiveHint"], false);
        assert_eq!(annotations["openWorldHint"], false);
        assert_eq!(listed["inputSchema"]["type"], "object");
        assert_eq!(listed["inputSchema"]["additionalProperties"], false);
        assert_eq!(listed["outputSchema"]["type"], "object");
        jsonschema::validator_for(&listed["inputSchema"]).unwrap();
        let properties = listed["inputSchema"]["properties"].as_object().unwrap();
        let count = own.parameters.len() + usize::from(own.takes_task);
        assert_eq!(properties.len(), count, "{listed}");
    }
}

#[test]
fn every_tool_answers_what_its_command_answers() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let mut client = Client::start(&stage);
    let schemas = client.tools();
    let id = id.as_str();
    for (name, arguments, words) in [
        ("attention", json!({}), "attention --all".to_owned()),
        ("tasks", json!({}), "task list --all".to_owned()),
        (
            "tasks",
            json!({ "project": "app", "all_statuses": true }),
            "task list --project app --all-statuses".to_owned(),
        ),
        (
            "task_show",
            json!({ "task": id }),
            format!("task show {id}"),
        ),
        ("task_why", json!({ "task": id }), format!("task why {id}")),
        (
            "task_diff",
            json!({ "task": id }),
            format!("task diff {id}"),
        ),
        (
            "task_diff",
            json!({ "task": id, "stat": true }),
            format!("task diff --stat {id}"),
        ),
        (
            "task_history",
            json!({ "task": id }),
            format!("task history {id}"),
        ),
        (
            "task_logs",
            json!({ "task": id, "role": "worker" }),
            format!("task logs --role worker {id}"),
        ),
        (
            "task_wait",
            json!({ "task": id, "until": ["reviewing"], "timeout": 1 }),
            format!("task wait --until reviewing --timeout 1 {id}"),
        ),
        (
            "task_wait",
            json!({ "task": id, "until": ["merged"], "timeout": 0 }),
            format!("task wait --until merged --timeout 0 {id}"),
        ),
        (
            "task_show",
            json!({ "task": "nope" }),
            "task show nope".to_owned(),
        ),
    ] {
        let result = client.call(name, &arguments);
        let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
        let (_, printed) = stage.json(&words);
        assert_eq!(result.value, printed, "{name} {arguments}");
        if !result.is_error {
            let mut schemas = schemas.iter();
            let schema = schemas.find(|it| it["name"] == name).unwrap();
            let validator = jsonschema::validator_for(&schema["outputSchema"]).unwrap();
            let problems: Vec<_> = validator.iter_errors(&result.value).collect();
            assert!(problems.is_empty(), "{name}: {problems:?}");
        }
    }
}

#[test]
fn a_task_is_created_and_told_by_an_assistant() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "pause go\nask inbox\n");
    stage.script("worker-2", "ask inbox\n");
    let mut client = Client::start(&stage);
    let created = client.call_ok(
        "task_create",
        &json!({ "summary": "Fix the login", "context": "--yes\n@file is meant" }),
    );
    let id = created["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(created["task"]["summary"], "Fix the login");
    assert_eq!(created["task"]["workflow"], "minimal");
    let id = TaskId::new(id);
    let text = stage.task_text(&id);
    assert!(text.contains("--yes\n@file is meant"), "{text}");
    let history = client.call_ok("task_history", &json!({ "task": id.as_str() }));
    let by = history["events"][0].to_string();
    assert!(by.contains("assistant"), "{by}");
    // The workflow lets an agent start the work, or the answer says that the user has to.
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let told = client.call_ok(
        "task_tell",
        &json!({ "task": id.as_str(), "message": "--role=reviewer\nlook" }),
    );
    assert_eq!(told["task"]["id"], id.as_str());
    fs::write(stage.path("scripts/go"), "").unwrap();
    wait_for("the message", || stage.calls().contains("look"));
    let calls = stage.calls();
    assert!(calls.contains("from the assistant"), "{calls}");
    let shown = client.call_ok("task_show", &json!({ "task": id.as_str() }));
    assert_eq!(shown["inbox"][0]["from"], "assistant", "{shown}");
}

#[test]
fn a_project_is_found_by_the_directory_and_never_registered() {
    let stage = Stage::new("minimal");
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    for call in ["init -q -b main", "commit -q --allow-empty -m first"] {
        let mut words = call.to_owned();
        if call.starts_with("commit") {
            words = format!("-c user.name=A -c user.email=a@example.org {call}");
        }
        assert!(stage.git_in(&other, &words).status.success());
    }
    let projects = fs::read(stage.path("home/projects.json")).unwrap();
    let mut client = Client::start_in(&stage, &other, ERAS[0]);
    let arguments = json!({ "summary": "Do it", "start": false });
    let created = client.call("task_create", &arguments);
    // The only project is meant, as on the command line of an agent; the repository stays unknown.
    assert_eq!(
        fs::read(stage.path("home/projects.json")).unwrap(),
        projects
    );
    println!("{}", created.value);
    let unknown = json!({ "summary": "Do it", "project": "nowhere" });
    assert_eq!(
        client.call("task_create", &unknown).code(),
        "project-not-found"
    );
}

/// Only one file knows the library.
#[test]
fn one_file_names_rmcp() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.canonicalize().unwrap()];
    let mut naming = Vec::new();
    let name = ["rm", "cp"].concat();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let uses = [format!("use {name}"), format!("{name}::")];
                if uses.iter().any(|it| text.contains(it)) {
                    naming.push(path);
                }
            }
        }
    }
    assert_eq!(naming.len(), 1, "{naming:?}");
    assert!(naming[0].ends_with("orange-mcp/src/server.rs"));
}
