//! A client that speaks both eras of the protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::schema_check::judge;
use crate::support::Stage;

/// How long an answer may take; a loaded machine is slow.
const TIMEOUT: Duration = Duration::from_mins(2);

/// How a client begins, and what it adds to each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, with this version.
    Session(&'static str),
    /// `server/discover`, and metadata in every request.
    Discover,
}

pub const ERAS: [Era; 3] = [
    Era::Session("2025-06-18"),
    Era::Session("2025-11-25"),
    Era::Discover,
];

const NEWEST: &str = "2026-07-28";

/// The lines that begin a session, and a request in it.
pub fn opening(era: Era) -> Vec<Value> {
    match era {
        Era::Session(version) => vec![
            json!({
                "jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": {
                    "protocolVersion": version, "capabilities": {},
                    "clientInfo": { "name": "test", "version": "1" },
                },
            }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ],
        Era::Discover => vec![request(era, 0, "server/discover", json!({}))],
    }
}

pub fn request(era: Era, id: u64, method: &str, mut params: Value) -> Value {
    if era == Era::Discover {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Messages as a client writes them.
pub fn in_lines(messages: &[Value]) -> String {
    let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

/// `orange mcp` and the connection with it; dropping it ends the process.
pub struct Client {
    process: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    /// Answers that came before the one that was waited for.
    early: Vec<Value>,
    next: u64,
    era: Era,
    /// What the server said about itself.
    pub server: Value,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct ToolResult {
    pub is_error: bool,
    /// The answer, or the error of orange.
    pub value: Value,
    pub whole: Value,
}

impl ToolResult {
    /// The code of the error.
    pub fn code(&self) -> &str {
        assert!(self.is_error, "{}", self.whole);
        self.value["error"]["code"].as_str().unwrap()
    }
}

impl Client {
    pub fn start(stage: &Stage) -> Client {
        Client::start_in(stage, &stage.path("repo"), Era::Session("2025-06-18"))
    }

    pub fn start_in(stage: &Stage, directory: &Path, era: Era) -> Client {
        let mut command = stage.orange(&["mcp"]);
        command.current_dir(directory);
        Client::of(command, era)
    }

    pub fn of(mut command: Command, era: Era) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let answer = serde_json::from_str(&line);
                let answer = answer.unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        let mut client = Client {
            process,
            input,
            answers,
            early: Vec::new(),
            next: 1,
            era,
            server: Value::Null,
        };
        for message in opening(era) {
            client.send(&message.to_string());
        }
        client.server = client.wait_for(0)["result"].clone();
        client
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request; its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&request(self.era, id, method, params).to_string());
        id
    }

    pub fn wait_for(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|it| it["id"] == id) {
            return self.early.remove(at);
        }
        loop {
            let answer = self.answers.recv_timeout(TIMEOUT).unwrap();
            if answer["id"] == id {
                return answer;
            }
            self.early.push(answer);
        }
    }

    /// The whole answer to a request.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.wait_for(id)
    }

    /// The tools, as they are listed.
    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", json!({}));
        assert!(answer["result"]["nextCursor"].is_null(), "{answer}");
        let tools = answer["result"]["tools"].as_array();
        tools.unwrap_or_else(|| panic!("{answer}")).clone()
    }

    pub fn tool_names(&mut self) -> Vec<String> {
        let tools = self.tools();
        let names = tools
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    pub fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.begin(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    pub fn end_call(&mut self, id: u64) -> ToolResult {
        tool_result(&self.wait_for(id))
    }

    /// Calls a tool; what it answers must have its published shape.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> ToolResult {
        let id = self.begin_call(tool, arguments);
        self.end_call(id)
    }

    /// The same; it must succeed.
    pub fn call_ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert!(!result.is_error, "{tool} {arguments}: {}", result.whole);
        result.value
    }

    /// Closes the connection, and waits for the end of the process; its exit code.
    pub fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.process.wait().unwrap().code()
    }
}

/// Reads the answer to the call of a tool.
pub fn tool_result(answer: &Value) -> ToolResult {
    let result = &answer["result"];
    let content = result["content"].as_array();
    let content = content.unwrap_or_else(|| panic!("no result: {answer}"));
    assert_eq!(content.len(), 1, "{answer}");
    assert_eq!(content[0]["type"], "text");
    let text = content[0]["text"].as_str().unwrap();
    let is_error = result["isError"] == true;
    let text = if is_error {
        text.strip_prefix("error\n").unwrap()
    } else {
        text
    };
    let value: Value = serde_json::from_str(text).unwrap();
    judge(&value);
    if is_error {
        assert_eq!(value["schema"], "orange.error/1", "{answer}");
        assert!(result["structuredContent"].is_null(), "{answer}");
    } else {
        assert_eq!(result["structuredContent"], value);
    }
    ToolResult {
        is_error,
        value,
        whole: answer.clone(),
    }
}
