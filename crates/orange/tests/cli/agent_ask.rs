//! `orange agent-ask`: the hook that asks for permission.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use serde_json::{Value, json};

use crate::support::reporting_agent::assert_silent;
use crate::support::{ReportingAgent, RunningSupervisor, SOON, wait_for};

/// How long an answer may take to reach the agent.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What Claude Code 2.1.325 passes to its hook.
fn claude_payload(command: &str) -> Value {
    json!({
        "session_id": "c4b79589-2b18-4976-9f23-5d2347992ce5",
        "transcript_path": "/home/me/.claude/projects/repo/c4b79589.jsonl",
        "cwd": "/home/me/repo",
        "prompt_id": "2ab948e5-bcc9-40ae-8c54-5cbf3370795e",
        "permission_mode": "acceptEdits",
        "effort": { "level": "medium" },
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": { "command": command, "description": "Publish the work" },
        "permission_suggestions": [{
            "type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{ "toolName": "Bash", "ruleContent": "git push *" }],
        }],
    })
}

/// What Codex 0.166.0 passes to its hook.
fn codex_payload(command: &str) -> Value {
    json!({
        "session_id": "01a1e75e-4484-7692-a725-eeca067cb48e",
        "turn_id": "01a1e75e-4591-75e0-a247-5ec1c7032a2a",
        "transcript_path": "/home/me/.codex/sessions/rollout.jsonl",
        "cwd": "/home/me/repo",
        "hook_event_name": "PermissionRequest",
        "model": "gpt-5-codex",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": command, "description": "needs it" },
    })
}

/// A hook that waits for an answer.
pub struct Hook {
    child: Child,
    pub id: String,
}

impl ReportingAgent {
    pub fn start_hook(&self, payload: &Value) -> Child {
        self.start_hook_with(&["agent-ask"], payload)
    }

    fn start_hook_with(&self, words: &[&str], payload: &Value) -> Child {
        let mut hook = self.command(words);
        hook.stdin(Stdio::piped());
        hook.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(payload.to_string().as_bytes()).unwrap();
        child
    }

    /// Starts a hook as Claude Code does, and waits until its request is in the queue.
    pub fn ask(&self, command: &str) -> Hook {
        self.ask_with(&claude_payload(command))
    }

    fn ask_with(&self, payload: &Value) -> Hook {
        let before = self.requests();
        let child = self.start_hook(payload);
        let id = self.await_request(&before);
        Hook { child, id }
    }

    /// The id of the first request that was not there before, read once: it may end at any time.
    fn await_request(&self, before: &[Value]) -> String {
        let mut id = None;
        wait_for("the request", || {
            let mut requests = self.requests().into_iter();
            let new = requests.find(|it| !before.contains(it));
            id = new.map(|it| it["id"].as_str().unwrap().to_owned());
            id.is_some()
        });
        id.unwrap()
    }

    /// The requests in the queue.
    pub fn requests(&self) -> Vec<Value> {
        let (code, answer) = self.stage.json(&["attention", "--json"]);
        assert_eq!(code, 0, "{answer}");
        let items = answer["items"].as_array().unwrap().iter();
        let requests = items.map(|it| it["request"].clone());
        requests.filter(|it| !it.is_null()).collect()
    }

    /// Starts a hook of an agent that shows its own dialog meanwhile.
    fn ask_beside_dialog(&self, command: &str) -> Hook {
        let child = self.start_hook_with(&["agent-ask", "--dialog"], &claude_payload(command));
        let id = self.await_request(&[]);
        Hook { child, id }
    }

    fn limit_wait(&self, wait: &str) {
        let text = format!("[permissions]\nwait = \"{wait}\"\n");
        fs::write(self.stage.path("home/config.toml"), text).unwrap();
    }
}

impl Hook {
    /// What the hook printed, once it has ended.
    pub fn finish(mut self) -> String {
        let ended = Deadline::after(SOON).wait_for(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "the hook still waits");
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stderr, b"", "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The decision that it printed for the agent.
    pub fn decision(self) -> Value {
        let printed = self.finish();
        let printed: Value = serde_json::from_str(&printed).unwrap();
        let output = &printed["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "PermissionRequest");
        output["decision"].clone()
    }

    fn is_waiting(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

#[test]
fn a_request_is_shown_in_full_and_its_answer_reaches_the_agent_at_once() {
    let agent = ReportingAgent::new();
    let long = format!("git push\n\tmake {}\u{1b}[2J # the end", "x".repeat(400));
    for payload in [claude_payload(&long), codex_payload(&long)] {
        let mut hook = agent.ask_with(&payload);
        let (_, answer) = agent.stage.json(&["attention", "--json"]);
        let item = &answer["items"][0];
        assert_eq!(answer["items"].as_array().unwrap().len(), 1, "{answer}");
        assert_eq!(item["kind"], "permission");
        assert_eq!(item["task"], agent.id.as_str());
        assert_eq!(item["command"], format!("orange allow {}", hook.id));
        assert_eq!(item["request"]["tool"], "Bash");
        assert_eq!(item["request"]["command"], long.as_str());
        assert_eq!(item["request"]["directory"], "/home/me/repo");
        let text = agent.stage.run_ok(&["attention"]);
        assert!(!text.contains('\u{1b}'), "{text}");
        let end = format!("make {}\u{fffd}[2J # the end", "x".repeat(400));
        assert!(text.contains(&end), "{text}");
        assert!(!text.contains("Publish the work"), "{text}");
        for word in ["allow", "deny"] {
            let command = format!("orange {word} {}", hook.id);
            assert!(text.contains(&command), "{text}");
        }
        assert_eq!(agent.activity()["state"], "waiting-for-permission");
        assert!(hook.is_waiting());
        let watch = Stopwatch::start();
        agent.stage.run_ok(&["allow", &hook.id]);
        assert_eq!(hook.decision(), json!({ "behavior": "allow" }));
        assert!(watch.elapsed() < AT_ONCE, "{:?}", watch.elapsed());
        assert_eq!(agent.requests(), [Value::Null; 0]);
        assert_eq!(agent.activity()["state"], "working");
    }
}

#[test]
fn two_requests_at_once_are_answered_separately() {
    let agent = ReportingAgent::new();
    let (mut one, two) = (agent.ask("git push one"), agent.ask("git push two"));
    let commands = agent.requests().into_iter();
    let commands: Vec<Value> = commands.map(|it| it["command"].clone()).collect();
    assert_eq!(commands, ["git push one", "git push two"]);
    agent.stage.run_ok(&["deny", &two.id]);
    assert_eq!(two.decision()["behavior"], "deny");
    assert!(one.is_waiting());
    assert_eq!(agent.requests().len(), 1);
    agent.stage.run_ok(&["allow", &one.id]);
    assert_eq!(one.decision()["behavior"], "allow");
}

#[test]
fn without_an_answer_the_agents_own_dialog_takes_over() {
    let agent = ReportingAgent::new();
    agent.limit_wait("5s");
    let hook = agent.ask("git push");
    let id = hook.id.clone();
    assert_eq!(hook.finish(), "", "the agent decides what follows");
    assert_eq!(agent.requests(), [Value::Null; 0]);
    let (_, answer) = agent.stage.json(&["attention", "--json"]);
    let item = &answer["items"][0];
    assert_eq!(item["kind"], "permission", "{answer}");
    assert_eq!(item["command"], format!("orange task attach {}", agent.id));
    let (code, answer) = agent.stage.json(&["allow", &id, "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("request-closed"))
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("not answered in time"), "{message}");
}

#[test]
fn a_killed_hook_leaves_no_request() {
    let agent = ReportingAgent::new();
    let mut hook = agent.ask("git push");
    hook.child.kill().unwrap();
    hook.child.wait().unwrap();
    assert_eq!(agent.requests(), [Value::Null; 0]);
    assert_eq!(agent.activity()["state"], "unknown", "it has gone on");
    let (_, attention) = agent.stage.json(&["attention", "--json"]);
    assert_eq!(attention["items"], json!([]), "nothing waits for you");
    let (code, answer) = agent.stage.json(&["deny", &hook.id, "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("request-closed"))
    );
}

#[test]
fn an_agent_that_reads_no_answer_any_more_does_not_wait() {
    let agent = ReportingAgent::new();
    let mut hook = agent.ask("git push");
    assert_eq!(agent.activity()["state"], "waiting-for-permission");
    // The escape key in the agent's dialog: the agent drops its hook, and reports nothing.
    drop(hook.child.stdout.take());
    wait_for("the hook to end", || !hook.is_waiting());
    assert_eq!(agent.activity()["state"], "unknown");
    let (_, attention) = agent.stage.json(&["attention", "--json"]);
    assert_eq!(attention["items"], json!([]), "nothing waits for you");
    // A request that orange cannot show still waits in the terminal.
    agent.tell(&["permission-wait"]);
    assert_eq!(agent.activity()["state"], "waiting-for-permission");
}

#[test]
fn the_end_of_a_dialog_is_seen_after_orange_stopped_waiting() {
    let agent = ReportingAgent::new();
    agent.limit_wait("5s");
    let mut hook = agent.ask_beside_dialog("git push");
    wait_for("the end of the request", || agent.requests().is_empty());
    assert!(hook.is_waiting(), "the dialog is open");
    assert_eq!(agent.activity()["state"], "waiting-for-permission");
    // The escape key: the agent ends its hook, and reports nothing.
    hook.child.kill().unwrap();
    hook.child.wait().unwrap();
    assert_eq!(agent.activity()["state"], "unknown");
    // Attaching leaves the request to the terminal, where the dialog is.
    agent.limit_wait("1m");
    let mut hook = agent.ask_beside_dialog("git push");
    agent.stage.driver().agents.attach(&agent.id, None).unwrap();
    wait_for("the end of the request", || agent.requests().is_empty());
    assert!(hook.is_waiting(), "the dialog is open");
    assert_eq!(agent.activity()["state"], "waiting-for-permission");
    drop(hook.child.stdout.take());
    wait_for("the hook to end", || !hook.is_waiting());
    assert_eq!(agent.activity()["state"], "unknown");
}

#[test]
fn a_request_outlives_the_supervisor() {
    let agent = ReportingAgent::new();
    let supervisor = RunningSupervisor::start(&agent.stage);
    let mut hook = agent.ask("git push");
    supervisor.kill();
    assert!(hook.is_waiting());
    agent.stage.run_ok(&["allow", &hook.id]);
    assert_eq!(hook.decision()["behavior"], "allow");
}

#[test]
fn an_answer_in_the_agents_terminal_ends_the_request() {
    let agent = ReportingAgent::new();
    let hook = agent.ask("git push");
    let other = json!({
        "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": { "file_path": "a" },
    });
    agent.tell(&["working", &other.to_string()]);
    assert_eq!(agent.requests().len(), 1, "another tool says nothing");
    let ran = json!({
        "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": { "command": "git push" }, "tool_response": "",
    });
    agent.tell(&["working", &ran.to_string()]);
    assert_eq!(hook.finish(), "");
    assert_eq!(agent.requests(), [Value::Null; 0]);
}

#[test]
fn attaching_leaves_the_request_to_the_agents_terminal() {
    let agent = ReportingAgent::new();
    let hook = agent.ask("git push");
    let id = hook.id.clone();
    agent.stage.driver().agents.attach(&agent.id, None).unwrap();
    assert_eq!(hook.finish(), "");
    let (_, answer) = agent.stage.json(&["allow", &id, "--json"]);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("left to the agent's terminal"),
        "{message}"
    );
}

#[test]
fn a_hook_ends_with_its_agent() {
    let agent = ReportingAgent::new();
    let mut hook = agent.ask("git push");
    // The agent's end of the pipe closes when it dies.
    drop(hook.child.stdout.take());
    let mut errors = String::new();
    let mut stderr = hook.child.stderr.take().unwrap();
    stderr.read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
    assert!(hook.child.wait().unwrap().success());
    let _other = agent.ask("git push");
    agent.stage.tmux(&["kill-server"]);
    wait_for("its agent's death", || agent.requests().is_empty());
}

#[test]
fn a_hook_that_cannot_ask_is_silent() {
    let agent = ReportingAgent::new();
    let run = |arguments: &[&str], variables: &[(&str, &str)], payload: &str| {
        let mut hook = agent.command(&[&["agent-ask"], arguments].concat());
        hook.envs(variables.iter().copied()).stdin(Stdio::piped());
        hook.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(payload.as_bytes()).unwrap();
        drop(input);
        assert_silent(&child.wait_with_output().unwrap());
    };
    let payload = claude_payload("git push").to_string();
    run(&[], &[("ORANGE_RUN_PROOF", "guessed")], &payload);
    run(&[], &[("ORANGE_RUN_ID", "another")], &payload);
    run(&[], &[("ORANGE_REPORT", "/tmp/report.json")], &payload);
    run(&[], &[], "not JSON");
    run(&[], &[], "");
    run(&[], &[], &claude_payload(&"x".repeat(200_000)).to_string());
    run(&["--nonsense"], &[], &payload);
    assert_eq!(agent.requests(), [Value::Null; 0]);
}
