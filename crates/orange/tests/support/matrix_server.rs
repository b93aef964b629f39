//! A Matrix homeserver with one room of two, on a loopback address.
//!
//! It does what the real one cannot be made to do: it loses answers, repeats messages and is busy.
//! As the real one, it sends a message once for each transaction id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::json_server::{JsonReply, JsonRequest, serve_json};

/// How long a request for messages waits, instead of the time that it names.
const SHORT_POLL: Duration = Duration::from_millis(300);

pub const TOKEN: &str = "syt_canary-matrix-token";
pub const ANN: &str = "@ann:example.org";
pub const ROOM: &str = "!room:example.org";
const BOT: &str = "@bot:example.org";

#[derive(Default)]
struct Homeserver {
    events: Vec<Value>,
    /// The texts that were sent, with their transaction ids.
    sent: Vec<(String, String)>,
    transactions: BTreeMap<String, usize>,
    requests: Vec<(Instant, String)>,
    /// Whether every event is delivered again and again.
    replays: bool,
    /// Whether a request for messages is answered at once.
    is_hasty: bool,
    /// For how many milliseconds nothing may be asked.
    busy: Option<u64>,
    /// How many of the next answers to a message that was sent are lost.
    losses: usize,
}

pub struct MatrixServer {
    address: String,
    state: Arc<Mutex<Homeserver>>,
}

impl MatrixServer {
    pub fn start() -> MatrixServer {
        let state = Arc::new(Mutex::new(Homeserver::default()));
        let shared = Arc::clone(&state);
        let address = serve_json(move |request| answer(&shared, request));
        MatrixServer { address, state }
    }

    fn state(&self) -> MutexGuard<'_, Homeserver> {
        self.state.lock().unwrap()
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// A message of the listed user.
    pub fn write(&self, text: &str) {
        let mut state = self.state();
        let id = format!("$event{}", state.events.len());
        state.events.push(json!({
            "type": "m.room.message", "event_id": id, "sender": ANN,
            "content": { "msgtype": "m.text", "body": text },
        }));
    }

    /// Delivers every message with every request.
    pub fn replay(&self) {
        self.state().replays = true;
    }

    /// Answers every request for messages at once.
    pub fn be_hasty(&self) {
        self.state().is_hasty = true;
    }

    /// Refuses the next request for so many milliseconds.
    pub fn be_busy(&self, millis: u64) {
        self.state().busy = Some(millis);
    }

    /// Loses the next answers to messages that were sent.
    pub fn lose(&self, count: usize) {
        self.state().losses = count;
    }

    /// The texts that arrived, each once for its transaction id.
    pub fn sent(&self) -> Vec<String> {
        let sent = self.state().sent.clone().into_iter();
        sent.map(|it| it.1).collect()
    }

    /// How often each transaction id was sent.
    pub fn transactions(&self) -> BTreeMap<String, usize> {
        self.state().transactions.clone()
    }

    /// When each address was asked.
    pub fn requests(&self) -> Vec<(Instant, String)> {
        self.state().requests.clone()
    }
}

fn answer(state: &Mutex<Homeserver>, request: &JsonRequest) -> JsonReply {
    let path = request.target.strip_prefix("/_matrix/client/v3/");
    let path = path.unwrap_or_default();
    let (subject, query) = path.split_once('?').unwrap_or((path, ""));
    {
        let mut state = state.lock().unwrap();
        state.requests.push((Instant::now(), subject.to_owned()));
        if let Some(millis) = state.busy.take() {
            return error(
                429,
                "M_LIMIT_EXCEEDED",
                &json!({ "retry_after_ms": millis }),
            );
        }
    }
    if request.authorization != format!("Bearer {TOKEN}") {
        return error(401, "M_UNKNOWN_TOKEN", &json!({}));
    }
    let room = "rooms/%21room%3Aexample.org/";
    match (request.method.as_str(), subject) {
        ("GET", "account/whoami") => ok(json!({ "user_id": BOT, "device_id": "D" })),
        ("GET", "sync") => sync(state, query),
        ("GET", "joined_rooms") => ok(json!({ "joined_rooms": [ROOM] })),
        (method, subject) => match (method, subject.strip_prefix(room)) {
            ("GET", Some("joined_members")) => ok(json!({ "joined": { ANN: {}, BOT: {} } })),
            ("GET", Some("state/m.room.encryption")) => error(404, "M_NOT_FOUND", &json!({})),
            ("PUT", Some(path)) => send(state, path, &request.body),
            _ => error(404, "M_UNRECOGNIZED", &json!({})),
        },
    }
}

fn sync(state: &Mutex<Homeserver>, query: &str) -> JsonReply {
    let since = query.split('&').find_map(|it| it.strip_prefix("since=s"));
    let since = since.map(|it| it.parse::<usize>().unwrap());
    let until = Instant::now() + SHORT_POLL;
    loop {
        {
            let state = state.lock().unwrap();
            let from = since.unwrap_or(0).min(state.events.len());
            let due = &state.events[if state.replays { 0 } else { from }..];
            let is_over = state.is_hasty || since.is_none() || Instant::now() >= until;
            if !due.is_empty() || is_over {
                let room = json!({ "timeline": { "events": due } });
                return ok(json!({
                    "next_batch": format!("s{}", state.events.len()),
                    "rooms": { "join": { ROOM: room } },
                }));
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn send(state: &Mutex<Homeserver>, path: &str, body: &Value) -> JsonReply {
    let mut state = state.lock().unwrap();
    let transaction = path.strip_prefix("send/m.room.message/");
    let text = body["body"].as_str().filter(|it| !it.is_empty());
    let (Some(transaction), Some(text), "m.notice") = (
        transaction,
        text,
        body["msgtype"].as_str().unwrap_or_default(),
    ) else {
        return error(400, "M_BAD_JSON", &json!({}));
    };
    let count = state.transactions.entry(transaction.to_owned());
    let count = count.and_modify(|it| *it += 1).or_insert(1);
    if *count == 1 {
        state.sent.push((transaction.to_owned(), text.to_owned()));
    }
    if state.losses > 0 {
        state.losses -= 1;
        return JsonReply::Lost;
    }
    ok(json!({ "event_id": format!("$answer-{transaction}") }))
}

fn ok(body: Value) -> JsonReply {
    JsonReply::Answer(200, body)
}

fn error(status: u16, code: &str, more: &Value) -> JsonReply {
    let mut body = json!({ "errcode": code, "error": "no" });
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    JsonReply::Answer(status, body)
}
