//! Requests for permission, answered from outside the agent's terminal.
//!
//! Each agent wants to push, which no level except `full` lets it do unasked. Whether it was allowed
//! shows in the remote repository.

use std::process::Command;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_engine::activity::AgentEventKind;
use orange_engine::names::TaskId;
use serde_json::Value;

use crate::agent::Agent;
use crate::events::wait_for_event;
use crate::namespace::run_in_namespace;
use crate::stage::{SOON, Stage};

/// How long an answer may take to reach the agent.
const AT_ONCE: Duration = Duration::from_secs(1);

fn stage(agent: Agent, settings: &str) -> Stage {
    let stage = Stage::new(&[agent]);
    stage.make_careful();
    let remote = stage.path("remote");
    let mut init = Command::new("git");
    let init = init.args(["init", "-q", "--bare"]).arg(&remote).status();
    assert!(init.unwrap().success());
    stage.git_text(&format!("remote add origin {}", remote.display()));
    let home = stage.path("person/orange");
    let settings = format!("{settings}\n[sandbox]\nmode = \"off\"\n");
    std::fs::write(home.join("config.toml"), settings).unwrap();
    stage
}

fn start(stage: &Stage, agent: Agent, branch: &str) -> TaskId {
    let push = format!("run git push -q origin {branch}\nsay I am done.\n");
    stage.script(branch, "worker-1", &push);
    stage.create(
        branch,
        &["--workflow", "careful", "--harness", agent.name()],
    )
}

/// The requests in the queue.
fn requests(stage: &Stage) -> Vec<Value> {
    let listed = stage.orange(&["attention", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let items = listed["items"].as_array().unwrap().clone();
    items
        .into_iter()
        .filter(|it| !it["request"].is_null())
        .collect()
}

/// Waits for the request of a task.
fn request_of(stage: &Stage, id: &TaskId) -> Value {
    let of_task = || {
        let mut all = requests(stage).into_iter();
        all.find(|it| it["task"] == id.as_str())
    };
    stage.wait_until(id, "its request", || of_task().is_some());
    of_task().unwrap()["request"].clone()
}

/// Whether the branch is in the remote repository.
fn is_pushed(stage: &Stage, branch: &str) -> bool {
    let found = stage.git(&format!("ls-remote --exit-code origin {branch}"));
    found.status.success()
}

/// Answers, and waits until the agent asks its model for the next step.
fn answer(stage: &Stage, id: &TaskId, branch: &str, words: &[&str]) {
    let watch = Stopwatch::start();
    // The command returns when the agent has the answer.
    stage.orange(words);
    let taken = watch.elapsed();
    assert!(taken < AT_ONCE, "{taken:?}");
    println!("the agent had the answer after {} ms", taken.as_millis());
    let goes_on = || {
        let all = stage.requests();
        all.iter()
            .any(|it| it["branch"] == branch && it["step"] == 1)
    };
    stage.wait_until(id, "the next step", goes_on);
}

fn allow_and_deny(agent: Agent) {
    let stage = stage(agent, "");
    let first = start(&stage, agent, "greet");
    let request = request_of(&stage, &first);
    assert_eq!(request["command"], "git push -q origin greet", "{request}");
    let worktree = stage.store().workspace_of(&first).unwrap().unwrap().path;
    assert_eq!(request["directory"], worktree.to_str().unwrap());
    assert!(!is_pushed(&stage, "greet"));
    // Two agents ask at once; each is answered on its own.
    let second = start(&stage, agent, "salute");
    let other = request_of(&stage, &second);
    assert_eq!(requests(&stage).len(), 2);
    let id = |request: &Value| request["id"].as_str().unwrap().to_owned();
    answer(
        &stage,
        &second,
        "salute",
        &["deny", &id(&other), "-m", "not today"],
    );
    assert_eq!(requests(&stage).len(), 1);
    answer(&stage, &first, "greet", &["allow", &id(&request)]);
    wait_for_event(&stage, &first, AgentEventKind::Idle);
    wait_for_event(&stage, &second, AgentEventKind::Idle);
    assert!(is_pushed(&stage, "greet"), "{}", stage.diagnostics(&first));
    assert!(!is_pushed(&stage, "salute"));
    assert_eq!(requests(&stage), [Value::Null; 0]);
    for task in ["greet", "salute"] {
        stage.orange(&["task", "cancel", task]);
    }
    stage.assert_clean(&format!("{} is allowed and denied", agent.name()));
}

fn dialog(agent: Agent) {
    let stage = stage(agent, "[permissions]\nwait = \"2s\"\n");
    let id = start(&stage, agent, "greet");
    let request = request_of(&stage, &id);
    let in_time = Deadline::after(SOON).wait_for(|| requests(&stage).is_empty());
    assert!(in_time, "{}", stage.diagnostics(&id));
    stage.wait_until(&id, "its own dialog", || is_dialog(&stage.screens()));
    let late = stage.orange_unchecked(&["allow", request["id"].as_str().unwrap(), "--json"]);
    let late: Value = serde_json::from_slice(&late.stdout).unwrap();
    assert_eq!(late["error"]["code"], "request-closed", "{late}");
    assert!(!is_pushed(&stage, "greet"));
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} asks in its own terminal", agent.name()));
}

/// Whether an agent's own dialog is on its screen.
fn is_dialog(screen: &str) -> bool {
    let words = [
        "Do you want to proceed?",
        "Would you like to run",
        "Allow execution",
        "Permission required",
    ];
    words.iter().any(|words| screen.contains(words))
}

/// The escape key ends a dialog, and the agent stops waiting for permission, whether orange still
/// waits for an answer or not.
fn escape(agent: Agent) {
    let stage = stage(agent, "");
    let id = start(&stage, agent, "greet");
    leave_dialog(&stage, agent, &id);
}

fn escape_after_the_wait(agent: Agent) {
    let stage = stage(agent, "[permissions]\nwait = \"2s\"\n");
    let id = start(&stage, agent, "greet");
    request_of(&stage, &id);
    stage.wait_until(&id, "the end of the request", || {
        requests(&stage).is_empty()
    });
    leave_dialog(&stage, agent, &id);
}

fn leave_dialog(stage: &Stage, agent: Agent, id: &TaskId) {
    stage.wait_until(id, "its own dialog", || is_dialog(&stage.screens()));
    let state = || {
        let shown = stage.orange(&["task", "show", "greet", "--json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["activities"][0]["state"].clone()
    };
    let waiting = "waiting-for-permission";
    stage.wait_until(id, "the wait", || state() == waiting);
    stage.press("Escape");
    let watch = Stopwatch::start();
    stage.wait_until(id, "the end of the wait", || state() != waiting);
    println!(
        "{}: {} {} ms after the escape key",
        agent.name(),
        state(),
        watch.elapsed().as_millis()
    );
    assert!(!is_dialog(&stage.screens()), "{}", stage.screens());
    assert!(!is_pushed(stage, "greet"));
    stage.orange(&["task", "cancel", "greet"]);
    stage.assert_clean(&format!("{} is interrupted", agent.name()));
}

macro_rules! permission {
    ($act:ident: $($name:ident: $agent:ident;)+) => {
        $(
            #[test]
            fn $name() {
                let name = concat!("permission::", stringify!($name));
                run_in_namespace(name, &[Agent::$agent], || $act(Agent::$agent));
            }
        )+
    };
}

permission! { allow_and_deny:
    claude_is_allowed_and_denied: Claude;
    codex_is_allowed_and_denied: Codex;
}

permission! { dialog:
    claude_without_an_answer_asks_in_its_terminal: Claude;
    codex_without_an_answer_asks_in_its_terminal: Codex;
}

permission! { escape_after_the_wait:
    claude_stops_waiting_after_the_escape_key_in_its_dialog: Claude;
    codex_stops_waiting_after_the_escape_key_in_its_dialog: Codex;
}

// codex shows no dialog while orange waits. gemini runs no hook after the escape key, so it is shown
// as waiting until its next prompt.
permission! { escape:
    claude_stops_waiting_after_the_escape_key: Claude;
    opencode_stops_waiting_after_the_escape_key: Opencode;
}
