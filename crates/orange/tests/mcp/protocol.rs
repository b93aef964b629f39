//! What the server answers in each version of the protocol.

use serde_json::json;

use crate::client::{Client, ERAS, Era};
use crate::support::Stage;

#[test]
fn both_eras_are_spoken() {
    let stage = Stage::new("minimal");
    for era in ERAS {
        let mut client = Client::start_in(&stage, &stage.path("repo"), era);
        match era {
            Era::Session(version) => assert_eq!(client.server["protocolVersion"], version),
            Era::Discover => {
                let versions = client.server["supportedVersions"].as_array().unwrap();
                assert!(versions.contains(&json!("2026-07-28")), "{}", client.server);
            }
        }
        assert!(client.server["capabilities"]["tools"].is_object());
        let instructions = client.server["instructions"].as_str().unwrap();
        assert!(
            instructions.contains("no instruction to you"),
            "{instructions}"
        );
        assert_eq!(client.tools().len(), 10, "{era:?}");
        let listed = client.call_ok("tasks", &json!({}));
        assert_eq!(listed["tasks"], json!([]), "{era:?}");
        assert_eq!(client.close(), Some(0), "{era:?}");
    }
}

#[test]
fn an_unknown_version_gets_one_that_is_known() {
    let stage = Stage::new("minimal");
    let era = Era::Session("2099-01-01");
    let mut client = Client::start_in(&stage, &stage.path("repo"), era);
    let version = client.server["protocolVersion"].as_str().unwrap();
    assert!(version.starts_with("20") && version < "2099", "{version}");
    assert_eq!(client.tools().len(), 10);
}

#[test]
fn there_is_nothing_but_tools() {
    let stage = Stage::new("minimal");
    let mut client = Client::start(&stage);
    for capability in ["resources", "prompts", "completions", "logging", "tasks"] {
        assert!(client.server["capabilities"][capability].is_null());
    }
    for (method, params) in [
        ("resources/read", json!({ "uri": "file:///etc/passwd" })),
        ("prompts/get", json!({ "name": "x" })),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("tasks/cancel", json!({ "taskId": "x" })),
        ("task/merge", json!({})),
        ("sampling/createMessage", json!({})),
    ] {
        let answer = client.ask(method, params);
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    assert_eq!(client.tools().len(), 10);
}

#[test]
fn garbage_ends_nothing() {
    let stage = Stage::new("minimal");
    let mut client = Client::start(&stage);
    for line in [
        "",
        "no",
        "{",
        "[]",
        "1",
        "null",
        "{}",
        "[{}]",
        "\u{1b}[2J",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":5000,"result":{}}"#,
    ] {
        client.send(line);
    }
    assert_eq!(client.tools().len(), 10);
    let answer = client.ask("tools/call", json!({ "name": "tasks", "arguments": [] }));
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    let answer = client.ask("tools/call", json!({ "arguments": {} }));
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_terminal_is_no_client() {
    let stage = Stage::new("minimal");
    let mut script = std::process::Command::new("script");
    let orange = env!("CARGO_BIN_EXE_orange");
    script.args(["-qec", &format!("{orange} mcp"), "/dev/null"]);
    script.env_clear().envs(stage.environment.variables());
    let Ok(output) = script.stdin(std::process::Stdio::null()).output() else {
        // Not every machine has it.
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("a client has to start this"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_client_that_speaks_something_else_is_told_so() {
    let stage = Stage::new("minimal");
    let mut command = stage.orange(&["mcp", "--json"]);
    let file = stage.path("first");
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    std::fs::write(&file, format!("{notification}\n")).unwrap();
    command.stdin(std::fs::File::open(&file).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"]["code"], "mcp-failed");
}
