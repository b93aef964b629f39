//! `orange agent-event`: stored immediately, displayed, and never obeyed.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use serde_json::json;

use crate::support::reporting_agent::assert_silent;
use crate::support::{ReportingAgent, SOON, wait_for};

#[test]
fn agent_events_are_shown_and_decide_nothing() {
    let agent = ReportingAgent::new();
    let id = agent.id.as_str();
    let before = agent.stage.task(&agent.id);
    assert_eq!(agent.activity()["state"], "unknown");
    assert!(agent.activity()["evidence"].is_null());
    let notice = json!({
        "session_id": "abc",
        "transcript_path": "/t.jsonl",
        "message": "May I run rm?",
        "hook_event_name": "Notification",
    });
    agent.tell(&["session-start"]);
    agent.report_with(&["permission-wait"], notice.to_string().as_bytes());
    let activity = agent.activity();
    assert_eq!(activity["state"], "waiting-for-permission");
    assert_eq!(activity["role"], "worker");
    let evidence = &activity["evidence"];
    assert_eq!(evidence["kind"], "permission-wait");
    assert_eq!(evidence["session_id"], "abc");
    assert_eq!(evidence["transcript"], "/t.jsonl");
    let text = agent.text();
    assert!(
        text.contains("\"hook_event_name\":\"Notification\""),
        "{text}"
    );
    for command in ["show", "why"] {
        let output = agent.stage.run_ok(&["task", command, id]);
        let words = "seems to be waiting for permission: it reported `permission-wait`";
        assert!(output.contains(words), "{output}");
        assert!(output.contains("May I run rm?"), "{output}");
    }
    let (_, listed) = agent.stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"][0]["activity"], "waiting-for-permission");
    assert!(agent.stage.run_ok(&["task", "list"]).contains("waiting"));
    // Codex gives its hook an argument; flags override its content.
    agent.tell(&["idle", "{\"thread-id\":\"x\"}", "--transcript", "/u"]);
    let activity = agent.activity();
    assert_eq!(activity["state"], "idle");
    assert_eq!(activity["evidence"]["session_id"], "x");
    assert_eq!(activity["evidence"]["transcript"], "/u");
    assert_eq!(
        agent.stage.task(&agent.id),
        before,
        "a status is never reported"
    );
}

#[test]
fn a_late_event_is_not_the_newest() {
    let agent = ReportingAgent::new();
    agent.tell(&["idle", "--sequence", "9"]);
    agent.tell(&["working", "--sequence", "3"]);
    assert_eq!(agent.activity()["state"], "idle");
    // Without a number, the order of the calls counts.
    agent.tell(&["working"]);
    assert_eq!(agent.activity()["state"], "working");
    agent.tell(&["idle"]);
    assert_eq!(agent.activity()["state"], "idle");
    // A line that a process died writing is ignored.
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(agent.file())
        .unwrap();
    file.write_all(b"{\"kind\":\"working\",\"sequence\":99999999999999")
        .unwrap();
    assert_eq!(agent.activity()["state"], "idle");
    agent.tell(&["working"]);
    assert_eq!(agent.activity()["state"], "working");
}

#[test]
fn an_event_that_cannot_be_stored_is_only_logged() {
    let agent = ReportingAgent::new();
    let wrong = |name: &str, value: &str| {
        let mut hook = agent.hook(&["idle"]);
        assert_silent(&hook.env(name, value).output().unwrap());
    };
    wrong("ORANGE_RUN_PROOF", "guessed");
    wrong("ORANGE_RUN_ID", "../../other");
    wrong("ORANGE_TASK_ID", "nobody");
    agent.tell(&["dreaming"]);
    agent.tell(&["idle", "--bogus"]);
    agent.tell(&[]);
    let mut outside = agent.stage.orange(&["agent-event", "idle"]);
    assert_silent(&outside.output().unwrap());
    assert_eq!(agent.text(), "");
    assert_eq!(
        agent.dropped_events(),
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
        agent
            .stage
            .run_ok(&["agent-event", "--help"])
            .contains("session-start")
    );
}

#[test]
fn an_agent_event_waits_for_nothing() {
    let agent = ReportingAgent::new();
    // A standard input that is never closed.
    let mut hook = agent.hook(&["working"]);
    let mut child = hook.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    wait_for("the end of the hook", || {
        child.try_wait().unwrap().is_some()
    });
    drop(open);
    assert_eq!(agent.activity()["state"], "working");
    // A database that another process has locked exclusively.
    let database = rusqlite::Connection::open(agent.stage.home().database()).unwrap();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Stopwatch::start();
    agent.tell(&["idle"]);
    assert!(began.elapsed() < Duration::from_secs(3), "{began:?}");
    assert!(agent.text().contains("idle"));
    drop(database);
    assert_eq!(agent.activity()["state"], "idle");
    // More input than is read breaks no pipe.
    agent.report_with(&["working"], &vec![b'x'; 2 * 1024 * 1024]);
    assert_eq!(agent.activity()["state"], "working");
}

#[test]
fn a_hook_is_quick() {
    let agent = ReportingAgent::new();
    let quickest = |call: &dyn Fn()| {
        let times = (0..20).map(|_| {
            let began = Stopwatch::start();
            call();
            began.elapsed()
        });
        times.min().unwrap()
    };
    let nothing = quickest(&|| {
        let mut nothing = Command::new("/bin/true");
        assert_silent(&nothing.stdin(Stdio::null()).output().unwrap());
    });
    let limit = nothing + Duration::from_millis(20);
    // A machine that is busy for a while is asked again; one quick call shows what a call costs.
    let mut rounds = 0;
    let in_time = Deadline::after(SOON).wait_for(|| {
        rounds += 1;
        let hook = quickest(&|| agent.tell(&["working"]));
        println!("agent-event: {hook:?}, /bin/true: {nothing:?}");
        hook < limit
    });
    assert_eq!(agent.text().matches("working").count(), 20 * rounds);
    assert!(in_time, "never within {limit:?}");
}
