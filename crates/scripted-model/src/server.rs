//! Listens, and answers each request according to the script.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{Answer, Api, Reply, reply};
use crate::conversation::{Conversation, NextAction, ScriptPosition};
use crate::http::{self, Request};
use crate::log::Log;
use crate::script::{Action, Fault, Step};
use crate::tools::has_shell;

/// How long a request may take to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A model that listens on loopback.
pub struct Model {
    listener: TcpListener,
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    scripts: PathBuf,
    log: Log,
    numbers: AtomicUsize,
    /// How often each step has failed so far.
    failures: Mutex<HashMap<String, usize>>,
}

impl Model {
    /// Listens on this port; 0 means a free one.
    pub fn start(scripts: &Path, log: &Path, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            scripts: scripts.to_owned(),
            log: Log::open(log)?,
            numbers: AtomicUsize::new(1),
            failures: Mutex::default(),
        });
        Ok(Self {
            listener,
            port,
            shared,
        })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the process exits; a failing connection does not affect others.
    pub fn serve(self) {
        for stream in self.listener.incoming().flatten() {
            let shared = Arc::clone(&self.shared);
            thread::spawn(move || {
                // An agent that disconnected needs no answer.
                let _gone = shared.handle(&stream);
            });
        }
    }
}

impl Shared {
    fn handle(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        stream.set_nodelay(true)?;
        let Some(request) = Request::read(stream)? else {
            return Ok(());
        };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let api = Api::of(&request.path).filter(|_| request.method == "POST");
        let Some(api) = api else {
            self.note(number, &request, &body, json!({}))?;
            return answer_other(stream, &request);
        };
        let conversation = api.read(&request.path, &body);
        let wanted = conversation.next_action();
        let (step, place) = self.step(&conversation, wanted);
        let fault = place.as_ref().and_then(|place| self.fault(place, &step));
        let act = reply(&conversation, step.act);
        let message = json!({
            "api": api.name(),
            "branch": place.as_ref().map(|it| it.branch.as_str()),
            "role": place.as_ref().map(|it| it.role),
            "turn": place.as_ref().map(|it| it.turn),
            "step": place.as_ref().map(|it| it.step),
            "fault": fault.map(Fault::word),
            "answer": match &act {
                Reply::Words(text) => json!({ "say": text }),
                Reply::Call { name, arguments } => json!({ "call": name, "with": arguments }),
            },
        });
        self.note(number, &request, &body, message)?;
        if let Some(fault) = fault.filter(|it| *it != Fault::Cut) {
            let (status, body) = api.refuse(fault);
            return http::answer(stream, status, "application/json", &body.to_string());
        }
        let tokens = step.tokens;
        let answer = Answer {
            number,
            tokens,
            act,
        };
        let pieces = api.write(&conversation, &answer);
        if !conversation.streams && fault.is_none() {
            thread::sleep(step.slow);
            return http::answer(stream, 200, "application/json", &pieces.concat());
        }
        http::begin(stream, 200, "text/event-stream", None)?;
        for (index, piece) in pieces.iter().enumerate() {
            http::piece(stream, piece)?;
            if index == 0 {
                if fault == Some(Fault::Cut) {
                    return Ok(());
                }
                thread::sleep(step.slow);
            }
        }
        http::piece(stream, "")
    }

    /// The next step, and its place in a script if it comes from one.
    fn step(
        &self,
        conversation: &Conversation,
        wanted: NextAction,
    ) -> (Step, Option<ScriptPosition>) {
        match wanted {
            // A request without tools is for a title or the like: not a turn of the script.
            _ if !has_shell(&conversation.tools) => (
                Step::plain(Action::Say(String::from("A scripted title"))),
                None,
            ),
            NextAction::Scripted(place) => (Step::at(&self.scripts, &place), Some(place)),
            NextAction::Run(command) => (Step::plain(Action::Run(command)), None),
            NextAction::Words => (Step::plain(Action::Say(String::from("Done."))), None),
        }
    }

    /// The failure for this attempt, if any.
    fn fault(&self, place: &ScriptPosition, step: &Step) -> Option<Fault> {
        let trouble = step.trouble?;
        let Some(times) = trouble.times else {
            return Some(trouble.fault);
        };
        let mut failures = self.failures.lock().ok()?;
        let count = failures.entry(format!("{place:?}")).or_default();
        *count += 1;
        (*count <= times).then_some(trouble.fault)
    }

    fn note(
        &self,
        number: usize,
        request: &Request,
        body: &Value,
        mut arguments: Value,
    ) -> io::Result<()> {
        arguments["number"] = json!(number);
        arguments["method"] = json!(request.method);
        arguments["path"] = json!(request.path);
        arguments["headers"] = json!(request.headers);
        // Bodies that are not JSON are logged too: anything an agent leaks shows up here.
        arguments["body"] = match body {
            Value::Null => json!(String::from_utf8_lossy(&request.body)),
            body => body.clone(),
        };
        self.log.write(&arguments)
    }
}

/// Answers requests outside a conversation: token counts, model lists, and anything else.
fn answer_other(stream: &TcpStream, request: &Request) -> io::Result<()> {
    let path = request.path.split('?').next().unwrap_or_default();
    let json = "application/json";
    if path.ends_with("/count_tokens") {
        http::answer(stream, 200, json, r#"{"input_tokens":100}"#)
    } else if path.ends_with(":countTokens") {
        http::answer(stream, 200, json, r#"{"totalTokens":100}"#)
    } else if path.ends_with("/models") {
        let none = r#"{"object":"list","data":[],"models":[]}"#;
        http::answer(stream, 200, json, none)
    } else if request.method == "HEAD" {
        http::begin(stream, 200, json, Some(0))
    } else {
        http::answer(stream, 404, json, r#"{"error":{"message":"not scripted"}}"#)
    }
}
