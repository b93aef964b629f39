//! `orange agent-event`: stored immediately, displayed, and never obeyed.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::clock::Stopwatch;
use serde_json::json;

use crate::support::reporting_agent::assert_silent;
use crate::support::{ReportingAgent, wait_for};

#[test]
fn what_an_agent_tells_is_shown_and_decides_nothing() {
    let told = ReportingAgent::new();
    let id = told.id.as_str();
    let before = told.stage.task(&told.id);
    assert_eq!(told.activity()["state"], "unknown");
    assert!(told.activity()["evidence"].is_null());
    let notice = json!({
        "session_id": "abc",
        "transcript_path": "/t.jsonl",
        "message": "May I run rm?",
        "hook_event_name": "Notification",
    });
    told.tell(&["session-start"]);
    told.report_with(&["permission-wait"], notice.to_string().as_bytes());
    let activity = told.activity();
    assert_eq!(activity["state"], "waiting-for-permission");
    assert_eq!(activity["role"], "worker");
    let evidence = &activity["evidence"];
    assert_eq!(evidence["kind"], "permission-wait");
    assert_eq!(evidence["session_id"], "abc");
    assert_eq!(evidence["transcript"], "/t.jsonl");
    let text = told.text();
    assert!(
        text.contains("\"hook_event_name\":\"Notification\""),
        "{text}"
    );
    for command in ["show", "why"] {
        let said = told.stage.must(&["task", command, id]);
        let words = "seems to be waiting for permission: it reported `permission-wait`";
        assert!(said.contains(words), "{said}");
        assert!(said.contains("May I run rm?"), "{said}");
    }
    let (_, listed) = told.stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"][0]["activity"], "waiting-for-permission");
    assert!(told.stage.must(&["task", "list"]).contains("waiting"));
    // Codex gives its hook an argument; flags override its content.
    told.tell(&["idle", "{\"thread-id\":\"x\"}", "--transcript", "/u"]);
    let activity = told.activity();
    assert_eq!(activity["state"], "idle");
    assert_eq!(activity["evidence"]["session_id"], "x");
    assert_eq!(activity["evidence"]["transcript"], "/u");
    assert_eq!(
        told.stage.task(&told.id),
        before,
        "a status is never reported"
    );
}

#[test]
fn what_arrives_late_is_not_the_newest() {
    let told = ReportingAgent::new();
    told.tell(&["idle", "--sequence", "9"]);
    told.tell(&["working", "--sequence", "3"]);
    assert_eq!(told.activity()["state"], "idle");
    // Without a number, the order of the calls counts.
    told.tell(&["working"]);
    assert_eq!(told.activity()["state"], "working");
    told.tell(&["idle"]);
    assert_eq!(told.activity()["state"], "idle");
    // A line that a process died writing is ignored.
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(told.file())
        .unwrap();
    file.write_all(b"{\"kind\":\"working\",\"sequence\":99999999999999")
        .unwrap();
    assert_eq!(told.activity()["state"], "idle");
    told.tell(&["working"]);
    assert_eq!(told.activity()["state"], "working");
}

#[test]
fn an_event_that_cannot_be_stored_is_only_logged() {
    let told = ReportingAgent::new();
    let wrong = |name: &str, value: &str| {
        let mut hook = told.hook(&["idle"]);
        assert_silent(&hook.env(name, value).output().unwrap());
    };
    wrong("ORANGE_RUN_PROOF", "guessed");
    wrong("ORANGE_RUN_ID", "../../other");
    wrong("ORANGE_TASK_ID", "nobody");
    told.tell(&["dreaming"]);
    told.tell(&["idle", "--bogus"]);
    told.tell(&[]);
    let mut outside = told.stage.orange(&["agent-event", "idle"]);
    assert_silent(&outside.output().unwrap());
    assert_eq!(told.text(), "");
    assert_eq!(
        told.dropped_events(),
        [
            "its proof does not match its run",
            "its task has no such run",
            "its task has no such run",
            "unknown kind of event",
            "unknown kind of event",
            "unknown kind of event",
            "it was not reported by an agent that orange started",
        ]
    );
    // `--help` still prints the help, for authors of hooks.
    assert!(
        told.stage
            .must(&["agent-event", "--help"])
            .contains("session-start")
    );
}

#[test]
fn nothing_is_waited_for() {
    let told = ReportingAgent::new();
    // A standard input that is never closed.
    let mut hook = told.hook(&["working"]);
    let mut child = hook.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    wait_for("the end of the hook", || {
        child.try_wait().unwrap().is_some()
    });
    drop(open);
    assert_eq!(told.activity()["state"], "working");
    // A database that another process has locked exclusively.
    let database = rusqlite::Connection::open(told.stage.home().database()).unwrap();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Stopwatch::start();
    told.tell(&["idle"]);
    assert!(began.elapsed() < Duration::from_secs(3), "{began:?}");
    assert!(told.text().contains("idle"));
    drop(database);
    assert_eq!(told.activity()["state"], "idle");
    // More input than is read breaks no pipe.
    told.report_with(&["working"], &vec![b'x'; 2 * 1024 * 1024]);
    assert_eq!(told.activity()["state"], "working");
}

#[test]
fn a_hook_is_quick() {
    let told = ReportingAgent::new();
    let quickest = |call: &dyn Fn()| {
        let times = (0..20).map(|_| {
            let began = Stopwatch::start();
            call();
            began.elapsed()
        });
        times.min().unwrap()
    };
    let hook = quickest(&|| told.tell(&["working"]));
    let nothing = quickest(&|| {
        let mut nothing = Command::new("/bin/true");
        assert_silent(&nothing.stdin(Stdio::null()).output().unwrap());
    });
    println!("agent-event: {hook:?}, /bin/true: {nothing:?}");
    assert_eq!(told.text().matches("working").count(), 20);
    assert!(hook < nothing + Duration::from_millis(20), "{hook:?}");
}
