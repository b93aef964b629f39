//! Asks the real server over loopback, as agents do.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set the stage must fail loudly"
)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use scripted_model::Model;
use serde_json::{Value, json};
use tempfile::TempDir;

const PROMPT: &str = "# Task: Greet\n\nBranch: greet\n\nYou are the worker.";

struct Stage {
    folder: TempDir,
    port: u16,
}

impl Stage {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path().join("scripts");
        fs::create_dir_all(scripts.join("greet")).unwrap();
        fs::write(scripts.join("greet/worker-1"), script).unwrap();
        let model = Model::start(&scripts, &folder.path().join("log"), 0).unwrap();
        let port = model.port();
        thread::spawn(move || model.serve());
        Self { folder, port }
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let body = body.to_string();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn log(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        let lines = log.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }
}

fn anthropic() -> Value {
    json!({
        "model": "m", "stream": true,
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{"name": "Bash", "input_schema": {"properties": {"command": {}}}}],
    })
}

fn conversations() -> [(&'static str, Value, &'static str); 4] {
    let shape = json!({"properties": {"command": {}, "cmd": {}}});
    let named = json!([{"type": "function", "name": "exec_command", "parameters": shape}]);
    let function = json!({"name": "bash", "parameters": {"properties": {"command": {}}}});
    let declared = json!({"name": "run_shell_command", "parametersJsonSchema": {}});
    [
        ("/v1/messages?beta=true", anthropic(), "message_stop"),
        (
            "/v1/responses",
            json!({
                "model": "m", "stream": true, "tools": named,
                "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}],
            }),
            "response.completed",
        ),
        (
            "/v1/chat/completions",
            json!({
                "model": "m", "stream": true,
                "messages": [{"role": "user", "content": PROMPT}],
                "tools": [{"type": "function", "function": function}],
            }),
            "[DONE]",
        ),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({
                "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
                "tools": [{"functionDeclarations": [declared]}],
            }),
            "STOP",
        ),
    ]
}

#[test]
fn every_api_returns_the_script_line_in_its_format() {
    let stage = Stage::new("run echo a-command\n");
    for (path, body, end) in conversations() {
        let answer = stage.post(path, &body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(answer.contains("echo a-command"), "{path}: {answer}");
        assert!(answer.contains(end), "{path}: {answer}");
        assert!(answer.ends_with("0\r\n\r\n"), "{path}: {answer}");
    }
    let log = stage.log();
    let apis: Vec<&str> = log.iter().filter_map(|it| it["api"].as_str()).collect();
    assert_eq!(apis, ["anthropic", "responses", "chat", "gemini"]);
    for line in &log {
        assert_eq!(
            (&line["branch"], &line["step"]),
            (&json!("greet"), &json!(0))
        );
        assert!(line["body"].to_string().contains("You are the worker"));
    }
}

#[test]
fn a_request_without_tools_is_not_a_script_turn() {
    let stage = Stage::new("run echo a-command\n");
    for (path, mut body, _) in conversations() {
        body["tools"] = json!([]);
        let answer = stage.post(path, &body);
        assert!(answer.contains("A scripted title"), "{path}: {answer}");
    }
    for line in stage.log() {
        assert_eq!(line["role"], Value::Null);
    }
}

#[test]
fn faults_use_the_format_of_each_api_and_end_on_time() {
    for (fault, statuses) in [
        ("quota", [429, 429, 429, 429]),
        ("overload", [529, 503, 503, 503]),
        ("key", [401, 401, 401, 400]),
    ] {
        let lasting = Stage::new(&format!("{fault}\nrun echo a-command\n"));
        for ((path, body, _), status) in conversations().into_iter().zip(statuses) {
            for _ in 0..2 {
                let answer = lasting.post(path, &body);
                assert!(
                    answer.starts_with(&format!("HTTP/1.1 {status} ")),
                    "{answer}"
                );
                assert!(answer.contains("\"error\""), "{answer}");
            }
        }
        let passing = Stage::new(&format!("{fault} 2\nrun echo a-command\n"));
        let (path, body, _) = &conversations()[0];
        let status = |_| passing.post(path, body)[9..12].parse().unwrap();
        let seen: Vec<u16> = (0..3).map(status).collect();
        assert_eq!(seen, [statuses[0], statuses[0], 200]);
    }
}

#[test]
fn an_answer_can_be_truncated_or_slow() {
    let stage = Stage::new("cut 1\nslow 1\nrun echo a-command\n");
    for (path, body, end) in conversations().into_iter().take(1) {
        let cut = stage.post(path, &body);
        assert!(!cut.contains(end) && !cut.ends_with("0\r\n\r\n"), "{cut}");
        let whole = stage.post(path, &body);
        assert!(whole.contains(end), "{whole}");
    }
}

#[test]
fn requests_without_a_conversation_are_answered_and_recorded() {
    let stage = Stage::new("");
    let counted = stage.post("/v1/messages/count_tokens", &json!({}));
    assert!(counted.contains("input_tokens"), "{counted}");
    let listed = stage.send("GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(listed.contains("\"data\":[]"), "{listed}");
    let strange = stage.send("POST /telemetry HTTP/1.1\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecret\r\n0\r\n\r\n");
    assert!(strange.starts_with("HTTP/1.1 404 "), "{strange}");
    let log = stage.log();
    assert_eq!(log.len(), 3);
    assert_eq!(log[2]["body"], "secret");
    assert_eq!(log[2]["headers"][0], json!(["x-a", "b"]));
}
