//! Signals to a waiting caller: what was decided still happens.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use orange_engine::names::TaskId;
use serde_json::json;

use crate::support::gates::gate_calls;
use crate::support::{COUNTED, Stage, Terminal, start_with_gate, wait_for};

/// The signals that ask a process to exit, and its exit codes.
const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

impl Stage {
    /// Delays workspace setup until the test allows it.
    fn hold_setup(&self) {
        let (began, go) = (self.path("began"), self.path("go"));
        let script = format!(
            "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done",
            began.display(),
            go.display()
        );
        self.configure("setup", &json!(["sh", "-c", script]));
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut orange = self.orange(arguments);
        orange.stdout(Stdio::piped()).stderr(Stdio::piped());
        orange.spawn().unwrap()
    }
}

/// Sends a process a signal to exit; returns its exit code and its stderr.
fn send_signal(mut child: Child, signal: &str) -> (Option<i32>, String) {
    let pid = child.id().to_string();
    let status = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(status.unwrap().success());
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    (child.wait().unwrap().code(), text)
}

fn require_hint(text: &str, id: &TaskId) {
    let text = text.replace("\n      ", " ");
    assert!(text.contains("continues in the background"), "{text}");
    assert!(text.contains(&format!("`orange task show {id}`")), "{text}");
}

#[test]
fn a_start_continues_after_its_caller_exits() {
    for (signal, code) in SIGNALS {
        for creates in [false, true] {
            let stage = Stage::new("default");
            stage.hold_setup();
            let child = if creates {
                stage.start(&["task", "create", "fix", "Fix it", "--wait", "600"])
            } else {
                stage.create(&["fix", "Fix it"]);
                stage.start(&["task", "spawn", "fix", "--wait", "600"])
            };
            wait_for("the setup", || stage.path("began").exists());
            let (ended, said) = send_signal(child, signal);
            assert_eq!(ended, Some(code), "{said}");
            let (_, listed) = stage.json(&["task", "list", "--json"]);
            let id = TaskId::new(listed["tasks"][0]["id"].as_str().unwrap());
            require_hint(&said, &id);
            assert!(!stage.task(&id).pending.is_empty(), "it has ended before");
            fs::write(stage.path("go"), "").unwrap();
            stage.wait_until_idle(&id);
            assert_eq!(stage.panes(), ["worker:0"]);
        }
    }
}

#[test]
fn a_merge_continues_after_its_caller_exits() {
    for (signal, code) in SIGNALS {
        let stage = Stage::new("minimal");
        let remote = stage.add_remote();
        let hook = remote.join("hooks/pre-receive");
        let (began, go) = (stage.path("began"), stage.path("go"));
        let held = format!(
            "#!/bin/sh\ntouch '{}'\nuntil [ -e '{}' ]; do sleep 0.05; done\n",
            began.display(),
            go.display()
        );
        stage.script("worker-1", "commit one; ask task complete");
        let id = stage.create(&["fix", "Fix it"]);
        stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
        stage.wait_for_turn("worker-1");
        stage.wait_until_idle(&id);
        fs::write(&hook, held).unwrap();
        let mode = Command::new("chmod").arg("+x").arg(&hook).status();
        assert!(mode.unwrap().success());
        let child = stage.start(&["task", "merge", "fix", "--wait", "600", "--yes"]);
        wait_for("the push", || began.exists());
        let (ended, said) = send_signal(child, signal);
        assert_eq!(ended, Some(code), "{said}");
        require_hint(&said, &id);
        fs::write(go, "").unwrap();
        stage.wait_until_idle(&id);
        stage.wait_for_status(&id, "done");
    }
}

#[test]
fn a_gate_left_by_its_caller_answers_the_next_request() {
    for (signal, code) in SIGNALS {
        let (stage, id) = start_with_gate("exit 0", COUNTED);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        let close = ["task", "update", id.as_str(), "--status", "closed"];
        let close = [&close[..], &["--wait", "600"]].concat();
        let child = stage.start(&close);
        wait_for("the gate", || gate_calls(&stage) == 1);
        let (ended, said) = send_signal(child, signal);
        assert_eq!(ended, Some(code), "{said}");
        require_gate_continues(&stage, &id, &said);
        stage.run_ok(&close);
        assert_eq!(stage.task(&id).status.as_str(), "closed");
        assert_eq!(gate_calls(&stage), 1, "it was not asked anew");
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_a_gate_but_not_the_gate() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let close = format!("orange task update {id} --status closed --wait 600");
    let terminal = Terminal::start(&stage, "gate", 80, &close);
    wait_for("the gate", || gate_calls(&stage) == 1);
    // It goes to every process of the terminal, as from a keyboard.
    terminal.press(&["C-c"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 130]"), "{screen}");
    require_gate_continues(&stage, &id, &screen);
    stage.run_ok(&["task", "update", id.as_str(), "--status", "closed"]);
    assert_eq!(stage.task(&id).status.as_str(), "closed");
    assert_eq!(gate_calls(&stage), 1, "it was not asked anew");
}

/// Nothing was decided, the gate still runs, and then it answers.
fn require_gate_continues(stage: &Stage, id: &TaskId, text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("a gate of task"), "{text}");
    assert!(text.contains("nothing was decided"), "{text}");
    assert!(text.contains(&format!("`orange task why {id}`")), "{text}");
    assert_eq!(stage.task(id).status.as_str(), "held");
    let answers = || {
        let commands = stage.store().gate_commands(id).unwrap();
        assert_eq!(commands.len(), 1, "{commands:?}");
        commands.iter().all(|it| it.answer.is_some())
    };
    assert!(!answers(), "it has ended before");
    stage.script("answer", "0");
    wait_for("the gate's answer", answers);
}

#[test]
fn an_interrupted_read_only_call_changes_nothing() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo I am here; ask task show");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    stage.wait_until_idle(&id);
    let before = stage.task(&id);
    for (signal, code) in SIGNALS {
        let wait = ["task", "wait", "fix", "--until", "terminal"];
        let logs = ["task", "logs", "fix", "--follow"];
        let log = ["log", "--follow"];
        for (line, hint) in [
            (&wait[..], format!("`orange task show {id}`")),
            (&logs[..], format!("`orange task attach {id}`")),
            (&log[..], String::new()),
        ] {
            let child = stage.start(line);
            wait_for_signal_handlers(&child);
            let (ended, text) = send_signal(child, signal);
            assert_eq!(ended, Some(code), "{line:?}: {text}");
            let text = text.replace("\n      ", " ");
            assert!(text.contains(&hint), "{line:?}: {text}");
            assert_eq!(hint.is_empty(), text.is_empty(), "{line:?}: {text}");
        }
    }
    assert_eq!(stage.task(&id), before);
    let (code, answer) = {
        let wait = ["task", "wait", "fix", "--until", "terminal", "--json"];
        let mut orange = stage.orange(&wait);
        let child = orange.stdout(Stdio::piped()).spawn().unwrap();
        wait_for_signal_handlers(&child);
        let pid = child.id().to_string();
        let status = Command::new("kill").args(["-s", "INT", &pid]).status();
        assert!(status.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), answer)
    };
    assert_eq!(code, Some(130));
    crate::schema_check::judge(&answer);
    assert_eq!(answer["error"]["code"], "interrupted");
    assert_eq!(answer["error"]["details"]["task"], id.as_str());
}

/// Waits until a process has handlers for both signals.
fn wait_for_signal_handlers(child: &Child) {
    let (status, exe) = (
        format!("/proc/{}/status", child.id()),
        format!("/proc/{}/exe", child.id()),
    );
    wait_for("its handlers", || {
        // Until it runs its own program, it has the handlers of this process.
        let is_itself = fs::read_link(&exe).is_ok_and(|exe| exe.ends_with("orange"));
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|it| it.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap_or_default().trim(), 16).unwrap_or(0);
        let is_caught = |signal: u32| caught & (1 << (signal - 1)) != 0;
        is_itself && is_caught(2) && is_caught(15)
    });
}

#[test]
fn an_interrupt_ends_a_wait_and_a_question() {
    let stage = Stage::new("default");
    stage.hold_setup();
    let id = stage.create(&["fix", "Fix it"]);
    let line = "orange task spawn fix --wait 600";
    let terminal = Terminal::start(&stage, "wait", 80, line);
    terminal.wait_for("acquire_workspace, ");
    terminal.press(&["C-c"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 130]"), "{screen}");
    assert!(screen.contains("continues in the background"), "{screen}");
    assert!(!screen.contains("acquire_workspace"), "{screen}");
    fs::write(stage.path("go"), "").unwrap();
    stage.wait_until_idle(&id);

    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let terminal = Terminal::start(&stage, "question", 80, "orange task delete fix");
    terminal.wait_for("[y/N]");
    terminal.press(&["C-c"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 130]"), "{screen}");
    assert!(!stage.task(&id).is_deleted);
}

/// Waits for a process, and returns its exit code, its stdout and its stderr.
fn end_with_signal(child: Child, signal: &str) -> (Option<i32>, String, String) {
    let pid = child.id().to_string();
    let status = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(status.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn an_interrupted_command_reports_what_it_did() {
    for (signal, code) in SIGNALS {
        let stage = Stage::new("default");
        let one = stage.create(&["one", "First"]);
        let two = stage.create(&["two", "Second"]);
        stage.run_ok(&["task", "spawn", "two", "--wait", "60"]);
        stage.wait_until_idle(&two);
        let (began, go) = (stage.path("began"), stage.path("go"));
        let script = format!(
            "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done",
            began.display(),
            go.display()
        );
        stage.configure("teardown", &json!(["sh", "-c", script]));
        let cancel = [
            "task", "cancel", "one", "two", "three", "--yes", "--wait", "600",
        ];
        let child = stage.start(&[&cancel[..], &["--json"]].concat());
        wait_for("the teardown", || began.exists());
        let (ended, answer, said) = end_with_signal(child, signal);
        fs::write(&go, "").unwrap();
        assert_eq!(ended, Some(code), "{answer}{said}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let tasks = answer["tasks"].as_array().unwrap();
        let outcomes: Vec<_> = tasks.iter().map(|it| &it["outcome"]).collect();
        assert_eq!(outcomes, ["succeeded", "interrupted"], "{answer}");
        assert_eq!(tasks[0]["task"], one.as_str(), "{answer}");
        stage.wait_until_idle(&two);
    }
}

#[test]
fn an_interrupted_start_with_several_agents_names_the_tasks() {
    let stage = Stage::new("default");
    let definition = fs::read_to_string(stage.path("home/harnesses/script.toml")).unwrap();
    let other = definition.replace("name = \"script\"", "name = \"other\"");
    fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    stage.hold_setup();
    let each = ["new", "--each", "script,other", "Fix it", "--wait", "600"];
    let child = stage.start(&each);
    wait_for("the setup", || stage.path("began").exists());
    let (ended, answer, said) = end_with_signal(child, "INT");
    assert_eq!(ended, Some(130), "{answer}{said}");
    assert!(said.contains("interrupted"), "{said}");
    let (_, listed) = stage.json(&["task", "list", "--json"]);
    let id = TaskId::new(listed["tasks"][0]["id"].as_str().unwrap());
    assert!(answer.contains(id.as_str()), "{answer}");
    fs::write(stage.path("go"), "").unwrap();
    stage.wait_until_idle(&id);
}
