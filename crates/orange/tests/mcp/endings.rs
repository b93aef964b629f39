//! The server ends with its client, and needs nothing else to live.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::clock::Stopwatch;
use serde_json::json;

use crate::client::{Client, ERAS, Era, in_lines, opening, request, tool_result};
use crate::support::{RunningSupervisor, Stage, wait_for};
use crate::tools::reviewed;

#[test]
fn it_ends_when_the_client_closes_the_connection() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    assert_eq!(Client::start(&stage).close(), Some(0));
    // Also while a call waits.
    let mut client = Client::start(&stage);
    let waits = json!({ "task": id.as_str(), "until": ["done"], "timeout": 50 });
    client.begin_call("task_wait", &waits);
    client.call_ok("tasks", &json!({}));
    let watch = Stopwatch::start();
    assert_eq!(client.close(), Some(0));
    assert!(
        watch.elapsed() < Duration::from_secs(20),
        "{:?}",
        watch.elapsed()
    );
    // A client that says nothing.
    let output = stage.orange(&["mcp"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn it_ends_when_the_client_is_killed() {
    let stage = Stage::new("minimal");
    // It holds the pipe to the server, and says nothing.
    let mut client = Command::new("sleep");
    let mut client = client.arg("600").stdout(Stdio::piped()).spawn().unwrap();
    let mut server = stage.orange(&["mcp"]);
    server.stdin(client.stdout.take().unwrap());
    let mut server = server.stdout(Stdio::null()).spawn().unwrap();
    let path = format!("/proc/{}/comm", server.id());
    wait_for("the server", || {
        fs::read_to_string(&path).is_ok_and(|it| it == "orange\n")
    });
    assert!(server.try_wait().unwrap().is_none());
    client.kill().unwrap();
    client.wait().unwrap();
    let mut status = None;
    wait_for("the end of the server", || {
        status = server.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}

#[test]
fn a_supervisor_may_be_killed_and_two_clients_work_at_once() {
    let stage = Stage::new("minimal");
    let supervisor = RunningSupervisor::start(&stage);
    let mut clients = ERAS.map(|era| Client::start_in(&stage, &stage.path("repo"), era));
    for client in &mut clients {
        client.call_ok(
            "task_create",
            &json!({ "summary": "Do it", "start": false }),
        );
    }
    drop(supervisor);
    for client in &mut clients {
        client.call_ok(
            "task_create",
            &json!({ "summary": "Do it", "start": false }),
        );
        let listed = client.call_ok("tasks", &json!({}));
        assert!(listed["tasks"].as_array().unwrap().len() > 3);
    }
    let calls: Vec<u64> = clients
        .iter_mut()
        .flat_map(|client| {
            (0..5)
                .map(|_| {
                    client.begin_call(
                        "task_create",
                        &json!({ "summary": "At once", "start": false }),
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let mut calls = calls.into_iter();
    for client in &mut clients {
        for call in calls.by_ref().take(5) {
            let result = client.end_call(call);
            assert!(!result.is_error, "{}", result.whole);
        }
    }
    let listed = clients[0].call_ok("tasks", &json!({}));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 21);
}

/// A client may send everything at once, and close the connection.
#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let stage = Stage::new("minimal");
    let era = Era::Session("2025-11-25");
    let mut lines = opening(era);
    lines.push(request(
        era,
        1,
        "tools/call",
        json!({ "name": "tasks", "arguments": {} }),
    ));
    let file = stage.path("requests");
    fs::write(&file, in_lines(&lines)).unwrap();
    let mut command = stage.orange(&["mcp"]);
    let output = command
        .stdin(fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let last = said.lines().last().unwrap();
    let result = tool_result(&serde_json::from_str(last).unwrap());
    assert_eq!(result.value["tasks"], json!([]));
}
