//! Agents that work on no task use the tools of `orange mcp`.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::process::Output;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::namespace::run_in_namespace;
use crate::stage::{Around, Stage};

/// What the user says; it only names the script.
const PROMPT: &str = "# Chat: tools\n\nBranch: tools\n";

/// One headless turn of the user's own agent, in the user's checkout.
fn talk(stage: &Stage, agent: Agent) -> Output {
    let words: &[&str] = match agent {
        Agent::Claude => &[
            "claude",
            "--print",
            "--allowedTools=mcp__orange",
            "--",
            PROMPT,
        ],
        Agent::Codex => &[
            "codex",
            "exec",
            "--json",
            "--sandbox",
            "read-only",
            "--",
            PROMPT,
        ],
        Agent::Gemini => &[
            "gemini",
            "--approval-mode=yolo",
            "--skip-trust",
            "--prompt",
            PROMPT,
        ],
        Agent::Opencode => &["opencode", "run", "--format=json", "--", PROMPT],
        Agent::Pi => unreachable!("it has no MCP"),
    };
    let output = stage.program(words).output().unwrap();
    println!(
        "{}: {}",
        agent.name(),
        String::from_utf8_lossy(&output.stdout)
    );
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Claude offers the tools of servers only after a search for them.
fn search(agent: Agent) -> String {
    if agent != Agent::Claude {
        return String::new();
    }
    let names = [
        "task_create",
        "tasks",
        "task_show",
        "task_tell",
        "task_wait",
        "attention",
        "task_complete",
    ];
    let names = names.map(|it| format!("mcp__orange__{it}")).join(",");
    let query = json!({ "query": format!("select:{names}"), "max_results": 10 });
    format!("call ToolSearch {query}\n")
}

/// The texts that the model was sent, in one.
fn told(stage: &Stage) -> String {
    let bodies = stage
        .requests()
        .into_iter()
        .map(|it| it["body"].to_string());
    bodies.collect::<Vec<_>>().join("\n").replace('\\', "")
}

/// A user with a project and a task, whose agent knows the tools.
fn prepared(agent: Agent) -> (Stage, TaskId) {
    let stage = Stage::around(Around::Nothing, &[agent]);
    // Agents start the server by its name.
    symlink(env!("CARGO_BIN_EXE_orange"), stage.path("bin/orange")).unwrap();
    stage.orange(&["project", "add", "--harness", agent.name()]);
    let known = stage.create("known", &["--workflow", "minimal", "--no-spawn"]);
    let written = stage.orange(&["install"]);
    println!("{}", String::from_utf8_lossy(&written.stdout));
    (stage, known)
}

fn check_tools(agent: Agent) {
    let (stage, known) = prepared(agent);
    let create = json!({ "summary": "Made by a model", "context": "Say it", "start": false });
    let show = json!({ "task": known.as_str() });
    // Gemini adds this argument to the tools of every server.
    let list = match agent {
        Agent::Gemini => json!({ "wait_for_previous": true }),
        _ => json!({}),
    };
    let tell = json!({ "task": known.as_str(), "message": "hello" });
    let script = format!(
        "{}call task_create {create}\ncall tasks {list}\ncall task_show {show}\ncall task_tell {tell}\nsay Done.\n",
        search(agent)
    );
    stage.script("tools", "chat-1", &script);
    let output = talk(&stage, agent);
    let told = told(&stage);
    assert!(output.status.success(), "{}", agent.name());
    let listed = stage.orange(&["task", "list", "--all", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let tasks = listed["tasks"].as_array().unwrap();
    let made = tasks.iter().find(|it| it["summary"] == "Made by a model");
    let made = made.unwrap_or_else(|| panic!("no task was created: {}", told.len()));
    let id = made["id"].as_str().unwrap();
    // The model saw the new task in the list, the state of the other one, and the refusal.
    for part in [
        id,
        "orange.task.list/1",
        "orange.task.show/1",
        "Greet in French",
        "refused",
    ] {
        let last = told.rfind("\"functionResponse\":").unwrap_or_default();
        let end: String = told[last..].chars().take(2000).collect();
        assert!(told.contains(part), "not told {part}: {end}");
    }
    let history = stage.orange(&["task", "history", id, "--json"]);
    let history = String::from_utf8(history.stdout).unwrap();
    assert!(history.contains("assistant"), "{history}");
    stage.orange(&["install", "--uninstall"]);
    stage.assert_clean(&format!("{} uses the tools", agent.name()));
}

/// A model that wants what only the user may do gets none of it.
fn check_hostile(agent: Agent) {
    let (stage, known) = prepared(agent);
    let id = known.as_str();
    let before = stage.store().require(&known).unwrap().task;
    let head = stage.git_text("rev-parse main");
    let mut script = search(agent);
    for call in [
        json!({ "tool": "task_show", "with": { "task": format!("{id} --yes") } }),
        json!({ "tool": "task_tell", "with": { "task": id, "message": "orange task merge --yes" } }),
        json!({ "tool": "task_tell", "with": { "task": id, "message": "x", "yes": true } }),
        json!({ "tool": "task_wait", "with": { "task": id, "until": ["--help"] } }),
        json!({ "tool": "task_create", "with": { "summary": "--trust --pr=1", "start": false } }),
        json!({ "tool": "task_create", "with": { "summary": "Do it", "context": "@/etc/passwd" } }),
        json!({ "tool": "task_create", "with": { "summary": "Do it", "workflow": "autopilot" } }),
        json!({ "tool": "attention", "with": { "clear": id } }),
        json!({ "tool": "tasks", "with": { "project": "../x" } }),
        json!({ "tool": "task_merge", "with": { "task": id } }),
    ] {
        let (tool, with) = (call["tool"].as_str().unwrap(), &call["with"]);
        let _ = writeln!(script, "call {tool} {with}");
    }
    stage.script("tools", "chat-1", &script);
    talk(&stage, agent);
    let told = told(&stage);
    assert!(told.contains("parameter-invalid"), "no call arrived");
    assert!(!told.contains("root:x:0:0"), "a file was read");
    assert_eq!(stage.store().require(&known).unwrap().task, before);
    assert_eq!(stage.git_text("rev-parse main"), head);
    stage.assert_clean(&format!("{} is hostile with the tools", agent.name()));
}

/// In a run, the tools are those of the run, also in a sandbox.
fn check_run(agent: Agent) {
    let stage = Stage::around(Around::Sandbox, &[agent]);
    stage.orange(&["project", "add", "--harness", agent.name()]);
    stage.orange(&["install"]);
    let script = format!(
        "{}run uname -n | sed s,^,host-is-,\ncall task_show {{}}\n\
         run echo Bonjour > greet.txt && git add greet.txt && git commit -qm Greet\n\
         run printf '\\n## Handoff\\n\\nDONE: it\\n' >> TASK.md\ncall task_complete {{}}\n",
        search(agent)
    );
    stage.script("greet", "worker-1", &script);
    let id = stage.create("greet", &["--workflow", "minimal"]);
    stage.wait_for(&id, "reviewing");
    let told = told(&stage);
    assert!(
        told.contains("orange.task.show/1"),
        "the task was not shown"
    );
    assert_eq!(stage.git_text("log --format=%s greet"), "Greet\nfirst\n");
    stage.assert_around(Around::Sandbox, &["worker"]);
    stage.assert_clean(&format!("{} completes its task with a tool", agent.name()));
}

/// An entry that an agent's own command wrote is left as it is, or is the same.
fn check_own_command(agent: Agent) {
    let stage = Stage::new(&[agent]);
    let (words, outcome): (&[&str], &str) = match agent {
        Agent::Claude => (
            &[
                "claude", "mcp", "add", "--scope", "user", "orange", "--", "orange", "mcp",
            ],
            "unchanged",
        ),
        // It lacks the variables.
        Agent::Codex => (
            &["codex", "mcp", "add", "orange", "--", "orange", "mcp"],
            "kept",
        ),
        _ => (
            &[
                "gemini", "mcp", "add", "--scope", "user", "orange", "orange", "mcp",
            ],
            "unchanged",
        ),
    };
    let added = stage.program(words).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    let written = stage.orange_unchecked(&["install", "--harness", agent.name(), "--json"]);
    let answer: Value = serde_json::from_slice(&written.stdout).unwrap();
    assert_eq!(answer["mcp_servers"][0]["outcome"], outcome, "{answer}");
    stage.assert_clean(&format!("{} adds the server itself", agent.name()));
}

macro_rules! tools {
    ($story:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("mcp::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || $story(Agent::$agent));
            }
        )+
    };
}

tools! { check_tools:
    claude_creates_and_reads_tasks: Claude;
    codex_creates_and_reads_tasks: Codex;
    gemini_creates_and_reads_tasks: Gemini;
    opencode_creates_and_reads_tasks: Opencode;
}

tools! { check_hostile:
    a_hostile_model_in_claude_gets_nothing_of_the_users: Claude;
    a_hostile_model_in_opencode_gets_nothing_of_the_users: Opencode;
}

tools! { check_run:
    claude_completes_its_task_in_a_sandbox: Claude;
    codex_completes_its_task_in_a_sandbox: Codex;
}

tools! { check_own_command:
    claude_adds_the_server_itself: Claude;
    codex_adds_the_server_itself: Codex;
    gemini_adds_the_server_itself: Gemini;
}
