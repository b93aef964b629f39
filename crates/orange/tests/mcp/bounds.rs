//! Every limit of the server.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use orange_config::clock::Stopwatch;
use serde_json::json;

use crate::client::Client;
use crate::support::Stage;
use crate::tools::reviewed;

#[test]
fn a_message_that_is_too_long_is_dropped_and_the_next_one_is_answered() {
    let stage = Stage::new("minimal");
    let mut client = Client::start(&stage);
    let long = json!({
        "jsonrpc": "2.0", "id": 999, "method": "tools/call",
        "params": { "name": "tasks", "arguments": { "project": "x".repeat(3 * 1024 * 1024) } },
    });
    client.send(&long.to_string());
    assert_eq!(client.tools().len(), 10);
    // Without an end of line, it is not kept either.
    let pid = client.pid();
    client.send(&"x".repeat(64 * 1024 * 1024));
    assert_eq!(client.tools().len(), 10);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status
        .lines()
        .find_map(|it| it.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    assert!(kilobytes < 200_000, "{kilobytes} kB");
}

#[test]
fn only_so_many_calls_run_and_wait() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let mut client = Client::start(&stage);
    let waits = json!({ "task": id.as_str(), "until": ["done"], "timeout": 3 });
    let ids: Vec<u64> = (0..60)
        .map(|_| client.begin_call("task_wait", &waits))
        .collect();
    let watch = Stopwatch::start();
    // A list of tools is answered meanwhile.
    assert_eq!(client.tools().len(), 10);
    assert!(watch.elapsed() < Duration::from_secs(20));
    let mut busy = 0;
    for call in ids {
        let result = client.end_call(call);
        if result.is_error {
            assert_eq!(result.code(), "busy");
            busy += 1;
        } else {
            assert_eq!(result.value["outcome"], "timeout");
        }
    }
    assert_eq!(busy, 60 - 8 - 32);
    client.call_ok("tasks", &json!({}));
}

#[test]
fn a_wait_is_bounded_and_can_be_cancelled() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let mut client = Client::start(&stage);
    for timeout in [json!(51), json!(100_000), json!(-1), json!("5"), json!(1.5)] {
        let arguments = json!({ "task": id.as_str(), "until": ["done"], "timeout": timeout });
        let refused = client.call("task_wait", &arguments);
        assert_eq!(refused.code(), "parameter-invalid", "{timeout}");
    }
    let watch = Stopwatch::start();
    let arguments = json!({ "task": id.as_str(), "until": ["done"], "timeout": 50 });
    let call = client.begin_call("task_wait", &arguments);
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call },
    });
    client.send(&cancelled.to_string());
    client.call_ok("tasks", &json!({}));
    assert!(watch.elapsed() < Duration::from_secs(30));
}

#[test]
fn large_answers_say_what_was_left_out() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    let worktree = stage.worktree(&id);
    let mut text = String::new();
    for number in 0..20_000 {
        let _ = writeln!(text, "line {number} \u{1b}]0;title\u{7} \u{202e}");
    }
    fs::write(worktree.join("large.txt"), &text).unwrap();
    let mut client = Client::start(&stage);
    let id = id.as_str();
    let diff = client.call_ok("task_diff", &json!({ "task": id }));
    assert!(diff.to_string().len() <= 64 * 1024);
    let note = diff["left_out"].as_str().unwrap();
    assert!(note.contains("`uncommitted.diff`"), "{note}");
    let shown = diff["uncommitted"]["diff"].as_str().unwrap();
    assert!(
        shown.contains("line 100 ") && !shown.contains('\u{1b}'),
        "{note}"
    );
    assert!(!shown.contains('\u{202e}'));
    // Without the patch, nothing is left out.
    let stat = client.call_ok("task_diff", &json!({ "task": id, "stat": true }));
    assert!(stat["left_out"].is_null());
    assert_eq!(stat["uncommitted"]["files"][0]["added"], 20_000);
}

#[test]
fn an_answer_that_cannot_be_shortened_is_refused() {
    let stage = Stage::new("minimal");
    let id = reviewed(&stage);
    // Every branch is a name in the answer, and no list holds them.
    let summary = "word ".repeat(20_000);
    stage.run_ok(&["task", "update", id.as_str(), "--summary", &summary]);
    let mut client = Client::start(&stage);
    let waits = json!({ "task": id.as_str(), "until": ["reviewing"], "timeout": 0 });
    let refused = client.call("task_wait", &waits);
    assert_eq!(refused.code(), "answer-too-large", "{}", refused.value);
    let message = refused.value["error"]["message"].as_str().unwrap();
    assert!(message.contains("orange task wait"), "{message}");
}
