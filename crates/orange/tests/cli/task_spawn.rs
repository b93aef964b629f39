//! `orange task spawn`: starts that fail or wait.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::support::{RunningSupervisor, Stage, wait_for};

#[test]
fn a_failed_start_explains_itself_in_text_and_json() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let id = stage.create(&["Add a line"]);
    let spawn = ["task", "spawn", id.as_str(), "--wait", "60"];
    let (code, output) = stage.call(&spawn);
    assert_eq!(code, 6, "{output}");
    assert!(output.contains("now in `pending`"), "{output}");
    assert!(
        output.contains("error: acquire_workspace failed: "),
        "{output}"
    );
    assert!(output.contains("setup.log"), "{output}");
    assert!(
        output.contains(&format!("hint: `orange task show {id}`")),
        "{output}"
    );
    stage.wait_until_idle(&id);
    let (code, answer) = stage.json(&["task", "spawn", id.as_str(), "--wait", "60", "--json"]);
    assert_eq!((code, &answer["outcome"]), (6, &"failed".into()));
    let given_up = answer["failed_effects"].as_array().unwrap();
    assert_eq!(given_up.len(), 1, "{answer}");
    assert_eq!(given_up[0]["effect"], "acquire_workspace");
    let error = given_up[0]["error"].as_str().unwrap();
    assert!(error.contains("setup.log"), "{error}");

    // An earlier failure does not make a successful start fail.
    stage.wait_until_idle(&id);
    stage.configure("setup", &json!([]));
    let (code, answer) = stage.json(&["task", "spawn", id.as_str(), "--wait", "60", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &"succeeded".into()));
    assert_eq!(
        answer["failed_effects"].as_array().unwrap().len(),
        0,
        "{answer}"
    );
}

#[test]
fn a_blocked_start_says_why() {
    let stage = Stage::new("default");
    stage.configure("pool_size", &1.into());
    let first = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", first.as_str(), "--wait", "60"]);
    let second = stage.create(&["Add another"]);
    let (code, output) = stage.call(&["task", "spawn", second.as_str(), "--wait", "60"]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("the pool of project `app` is full"),
        "{output}"
    );
    assert_eq!(stage.task(&second).status.as_str(), "pending");

    stage.configure("pool_size", &4.into());
    let third = stage.create(&["Add a third", "--branch", "late"]);
    stage.git("worktree add -q -b late ../late");
    let (code, output) = stage.call(&["task", "spawn", third.as_str(), "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    assert!(output.contains("the branch is checked out in"), "{output}");
}

pub const ABSENT: &str = "name = \"gone\"\nbinary = \"/nowhere/agent\"\n[args]\nfull = [\"a\"]\n\
                      reduced = [\"a\"]\n";

pub fn with_absent_agent() -> Stage {
    let stage = Stage::new("default");
    fs::write(stage.path("home/harnesses/gone.toml"), ABSENT).unwrap();
    stage
}

pub fn create(stage: &Stage, words: &[&str]) -> (i32, Value) {
    let typed = ["task", "create", "--json", "--wait", "60"].iter();
    let typed: Vec<&str> = typed.chain(words).copied().collect();
    stage.json(&typed)
}

pub fn id(answer: &Value) -> TaskId {
    TaskId::new(answer["task"]["id"].as_str().unwrap())
}

/// The start has failed, the task shows that, and the answer says what failed.
pub fn assert_failure_reported(stage: &Stage, code: i32, answer: &Value) {
    assert_eq!(code, 6, "{answer}");
    assert_eq!(answer["outcome"], "failed", "{answer}");
    assert_eq!(
        answer["failed_effects"][0]["effect"], "spawn_agent",
        "{answer}"
    );
    let id = id(answer);
    stage.wait_for_status(&id, "pending");
    let spawn = format!("orange task spawn {id}");
    let (_, attention) = stage.json(&["attention", "--json"]);
    let items = attention["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["task"] == id.as_str());
    let item = item.unwrap_or_else(|| panic!("{attention}"));
    assert_eq!(item["kind"], "effect-failed", "{attention}");
    assert_eq!(item["command"], spawn.as_str(), "{attention}");
    assert!(item["text"].as_str().unwrap().contains("/nowhere/agent"));
    for words in [["task", "show"], ["task", "why"]] {
        let output = stage.run_ok(&[words[0], words[1], id.as_str()]);
        assert!(output.contains("/nowhere/agent"), "{output}");
    }
    let list = stage.run_ok(&["task", "list"]);
    let row = list.lines().find(|line| line.contains(id.as_str()));
    assert!(row.is_some_and(|row| row.contains("spawn_agent")), "{list}");
}

#[test]
fn a_faster_supervisor_does_not_hide_a_failed_start() {
    let stage = with_absent_agent();
    let _serving = RunningSupervisor::start(&stage);
    for number in 1..=6 {
        let branch = format!("task-{number}");
        let (code, answer) = create(&stage, &[&branch, "Add a line", "--harness", "gone"]);
        assert_failure_reported(&stage, code, &answer);
    }
}

#[test]
fn a_task_waits_for_a_full_pool_and_starts_when_a_workspace_is_free() {
    let stage = Stage::new("minimal");
    stage.configure("pool_size", &1.into());
    stage.script(
        "worker-1",
        "commit one\nprintf 'DONE: it\\n' | section Handoff\n",
    );
    let (code, first) = create(&stage, &["one", "Add a line"]);
    assert_eq!(code, 0, "{first}");
    let (code, text) = stage.call(&["task", "create", "two", "Add another", "--wait", "60"]);
    assert_eq!(code, 0, "{text}");
    let text: String = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let why = "waits: no workspace is free (the pool of project `app` is full: 1 of 1), held by";
    assert!(text.contains(why), "{text}");
    let (_, shown) = stage.json(&["task", "show", "two", "--json"]);
    let second = id(&shown);
    let task = stage.task(&second);
    assert_eq!(task.status.as_str(), "pending");
    assert_eq!(task.attention, [] as [&str; 0]);
    assert_eq!(task.entered.from, None, "no start was wasted");
    // The end of the first task starts it, without a supervisor.
    stage.wait_for_turn("worker-1");
    let merge = ["task", "merge", "one", "--yes", "--wait", "60"];
    stage.run_ok(&merge);
    wait_for("the second to start", || {
        stage.task(&second).status.as_str() == "working"
    });
}

#[test]
fn a_full_pool_refuses_starts_if_so_configured() {
    let stage = Stage::new("minimal");
    fs::write(
        stage.path("home/config.toml"),
        "[pool]\nsize = 1\nwhen_full = \"refuse\"\n",
    )
    .unwrap();
    stage.configure("pool_size", &1.into());
    let (code, first) = create(&stage, &["one", "Add a line"]);
    assert_eq!(code, 0, "{first}");
    let (code, second) = create(&stage, &["two", "Add another"]);
    assert_eq!(code, 3, "{second}");
    assert_eq!(second["not_started"]["code"], "pool-full", "{second}");
}

#[test]
fn a_start_from_a_renamed_default_branch_names_the_command_that_helps() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ask task show");
    let id = stage.create(&["fix", "Fix it"]);
    stage.git("branch -m main trunk");
    let (code, output) = stage.call(&["task", "spawn", "fix", "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    let words: Vec<&str> = output.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("there is no branch `main` in"), "{output}");
    assert!(!text.contains("no commit yet"), "{output}");
    let command = "orange project update app --default-branch trunk";
    assert!(text.contains(command), "{output}");
    stage.run_ok(&command.split(' ').skip(1).collect::<Vec<_>>());
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
}

#[test]
fn a_checked_out_branch_that_a_shell_would_run_is_not_suggested() {
    let stage = Stage::new("default");
    stage.create(&["fix", "Fix it"]);
    stage.git("branch -m main a;$(id)");
    let (code, output) = stage.call(&["task", "spawn", "fix", "--wait", "60"]);
    assert_eq!(code, 6, "{output}");
    let words: Vec<&str> = output.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("--default-branch BRANCH`"), "{output}");
    assert!(!text.contains("$(id)"), "{output}");
}
