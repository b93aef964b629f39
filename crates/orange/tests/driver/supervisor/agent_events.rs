//! What a supervisor learns from agents, and where it reports that.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use orange_driver::supervisor::{Settings, Supervisor};
use serde_json::Value;

use super::probes::{real_tmux, with_tmux};
use crate::support::{ReportingAgent, RunningSupervisor, SOON, Stage, environment, wait_for};

/// A stage with a program of this name on the `PATH` that logs its calls.
fn with_program(mut stage: Stage, name: &str) -> Stage {
    let folder = stage.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(name);
    let note = stage.path("called");
    let text = format!(
        "#!/bin/sh\nprintf '%s|' \"$@\" >> '{0}'\necho >> '{0}'\n",
        note.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.display());
    let root = folder.parent().unwrap().to_owned();
    stage.environment = environment(&root, &[("PATH", &path)]);
    stage
}

fn logged_calls(stage: &Stage) -> String {
    fs::read_to_string(stage.path("called")).unwrap_or_default()
}

#[test]
fn each_attention_item_is_notified_once() {
    let stage = with_program(Stage::new("default"), "notify-send");
    let settings = stage.path("home/config.toml");
    fs::write(settings, "[notify]\ndesktop = true\n").unwrap();
    let id = stage.create(&["Look at it", "--status", "reviewing"]);
    let serving = RunningSupervisor::start(&stage);
    let text =
        format!("--app-name=orange|--|orange|{id} (review): the work is ready for your review|");
    wait_for("the notification", || logged_calls(&stage).contains(&text));
    // Neither another poll nor another supervisor reports it again.
    serving.kill();
    let serving = RunningSupervisor::start(&stage);
    let other = stage.create(&["Look at this", "--status", "reviewing"]);
    wait_for("the other", || {
        logged_calls(&stage).contains(other.as_str())
    });
    drop(serving);
    assert_eq!(logged_calls(&stage).matches(id.as_str()).count(), 1);
    assert_eq!(
        logged_calls(&stage).lines().count(),
        2,
        "{}",
        logged_calls(&stage)
    );
}

/// A server that takes messages: its address, and what was posted whose body ends like this.
fn message_server(end: &'static str) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, posted) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            while !bytes.ends_with(end.as_bytes()) {
                let read = stream.read(&mut buffer).unwrap();
                bytes.extend_from_slice(&buffer[..read]);
            }
            stream
                .write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                .unwrap();
            sender.send(String::from_utf8(bytes).unwrap()).unwrap();
        }
    });
    (address, posted)
}

/// What doctor says about the webhook, once there is something to say.
fn webhook_row(stage: &Stage) -> Value {
    let mut row = Value::Null;
    wait_for("the row of doctor", || {
        let (_, doctor) = stage.json(&["doctor", "--json"]);
        let rows = doctor["checkups"].as_array().unwrap();
        let mut rows = rows.iter();
        let found = rows.find(|it| it["subject"] == "notification by webhook");
        row = found.cloned().unwrap_or_default();
        found.is_some()
    });
    row
}

#[test]
fn a_text_for_ntfy_links_to_the_task() {
    let (address, posted) = message_server("with it?");
    let agent = ReportingAgent::new();
    let stage = &agent.stage;
    let text = format!(
        "[notify]\nbell = false\nformat = \"ntfy\"\nwebhook = \"http://{address}/topic\"\n\
         page = \"https://orange.example/\"\n"
    );
    fs::write(stage.path("home/config.toml"), text).unwrap();
    let _serving = RunningSupervisor::start(stage);
    agent.tell(&[
        "permission-wait",
        "{\"message\":\"Shall I go on with it?\"}",
    ]);
    let request = posted.recv_timeout(SOON).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let link = format!("click: https://orange.example/#/task/{}", agent.id);
    assert!(head.starts_with("POST /topic HTTP/1.1"), "{head}");
    assert!(
        head.contains(&link) && head.contains("title: orange"),
        "{head}"
    );
    assert!(
        body.starts_with(&format!("{} (permission): ", agent.id)),
        "{body}"
    );
}

#[test]
fn doctor_tells_that_a_notification_was_not_delivered() {
    // The port is closed again.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let agent = ReportingAgent::new();
    let stage = &agent.stage;
    let text = format!("[notify]\nbell = false\nwebhook = \"http://{address}/secret\"\n");
    fs::write(stage.path("home/config.toml"), text).unwrap();
    let _serving = RunningSupervisor::start(stage);
    agent.tell(&["permission-wait", "{\"message\":\"May I?\"}"]);
    let row = webhook_row(stage);
    assert_eq!(row["health"], "warning", "{row}");
    let message = row["message"].as_str().unwrap();
    assert!(message.contains("was not delivered"), "{message}");
    assert!(!message.contains("secret"), "{message}");
    assert!(row["fix"].as_str().unwrap().contains("orange attention"));
}

#[test]
fn a_webhook_receives_attention_items_as_json_without_secrets() {
    // A JSON body ends with its brace.
    let (address, posted) = message_server("}");
    let agent = ReportingAgent::new();
    let stage = &agent.stage;
    let text = format!(
        "[notify]\nbell = false\nwebhook = \"http://{address}/secret\"\n\
         page = \"http://127.0.0.1:7171\"\n"
    );
    fs::write(stage.path("home/config.toml"), text).unwrap();
    let _serving = RunningSupervisor::start(stage);
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let question = format!("{{\"message\":\"May I run \\\"rm {secret}\\\"?\"}}");
    agent.tell(&["permission-wait", &question]);
    let request = posted.recv_timeout(SOON).unwrap();
    assert!(request.starts_with("POST /secret HTTP/1.1"), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["schema"], "orange.notification/1");
    assert_eq!(body["items"][0]["kind"], "permission");
    assert_eq!(body["items"][0]["task"], agent.id.as_str());
    let link = format!("http://127.0.0.1:7171/#/task/{}", agent.id);
    assert_eq!(body["items"][0]["url"], link);
    assert_eq!(webhook_row(stage)["health"], "ok");
    let words = body["items"][0]["text"].as_str().unwrap();
    assert!(words.ends_with("May I run \"rm [redacted]\"?"), "{words}");
    assert!(!request.contains(secret), "{request}");
    assert_eq!(body["items"].as_array().unwrap().len(), 1);
    // An agent that continues to work needs no attention, and nothing more is posted.
    agent.tell(&["working"]);
    let more = posted.recv_timeout(Duration::from_secs(2));
    assert!(more.is_err(), "{more:?}");
}

/// A wrapper for tmux: counts the processes, and the requests over the connection.
const COUNTED: &str = r#"#!/bin/sh
echo "$*" >> "ROOT/processes"
case "$*" in
*" -C "*) tee "ROOT/asked" | "REAL" "$@" ;;
*) exec "REAL" "$@" ;;
esac
"#;

#[test]
fn lesson_43_polling_agents_and_reading_events_starts_no_process() {
    let mut agent = ReportingAgent::new();
    let one = agent.stage.create(&["Another"]);
    let two = agent.stage.create(&["And another"]);
    for id in [&one, &two] {
        agent.stage.script("worker-2", "hang");
        agent.stage.script("worker-3", "hang");
        agent
            .stage
            .run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        agent.stage.wait_until_idle(id);
    }
    let settings = agent.stage.path("home/config.toml");
    fs::write(settings, "[notify]\nbell = false\n").unwrap();
    with_tmux(&mut agent.stage, &COUNTED.replace("REAL", &real_tmux()));
    let settings = Settings {
        tick: Duration::from_millis(10),
        ..Settings::default()
    };
    let supervisor = Supervisor::new(agent.stage.driver(), settings).unwrap();
    let stopper = supervisor.stopper();
    let supervising = thread::spawn(move || supervisor.run());
    let count = |name: &str, words: &str| {
        let text = fs::read_to_string(agent.stage.path(name)).unwrap_or_default();
        text.lines().filter(|line| line.contains(words)).count()
    };
    for looks in [20, 40, 60] {
        agent.tell(&["permission-wait"]);
        agent.tell(&["working"]);
        wait_for("more looks", || count("asked", "list-panes") >= looks);
    }
    stopper.stop();
    supervising.join().unwrap().unwrap();
    let looks = count("asked", "list-panes");
    let lasting = count("processes", " -C ");
    assert_eq!(lasting, 1, "for {looks} looks at 3 agents");
    // A starting supervisor searches once for processes that outlived their run, and asks once
    // whether the server answers; there is no other process.
    assert_eq!(count("processes", ""), lasting + 2, "for {looks} looks");
}

#[test]
fn an_agent_that_confirmed_the_nudge_has_its_message() {
    let agent = ReportingAgent::in_review();
    let (stage, id) = (&agent.stage, &agent.id);
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_until_idle(id);
    let inbox = || stage.store().inbox(id).unwrap();
    wait_for("the line", || inbox()[0].delivery.sent_at.is_some());
    assert!(
        stage
            .run_ok(&["task", "show", id.as_str()])
            .contains("undelivered")
    );
    let _serving = RunningSupervisor::start(stage);
    agent.tell(&["prompt-submitted"]);
    wait_for("the confirmation", || {
        inbox()[0].delivery.confirmed_at.is_some()
    });
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(shown["inbox"][0]["undelivered"], false, "{shown}");
    assert!(shown["inbox"][0]["read_at"].is_null(), "{shown}");
}

#[test]
fn events_reported_without_a_supervisor_are_read_at_its_start() {
    let agent = ReportingAgent::in_review();
    let (stage, id) = (&agent.stage, &agent.id);
    // No sweep runs during this test, so none can notice it.
    fs::write(
        stage.path("home/config.toml"),
        "[supervisor]\nsweep = \"1h\"\n",
    )
    .unwrap();
    stage.run_ok(&["task", "request-changes", id.as_str(), "-m", "two lines"]);
    stage.wait_until_idle(id);
    let inbox = || stage.store().inbox(id).unwrap();
    wait_for("the line", || inbox()[0].delivery.sent_at.is_some());
    agent.tell(&["prompt-submitted"]);
    assert!(inbox()[0].delivery.confirmed_at.is_none());
    let _serving = RunningSupervisor::start(stage);
    wait_for("the confirmation", || {
        inbox()[0].delivery.confirmed_at.is_some()
    });
}
