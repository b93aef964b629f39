//! A Telegram server with one bot, on a loopback address.
//!
//! It keeps updates until a later offset confirms them, as the Bot API does, and refuses requests
//! with another token or with parameters that the Bot API does not know.

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::json_server::{JsonReply, serve_json};

/// How long a request for messages waits, instead of the seconds that it names.
const SHORT_POLL: Duration = Duration::from_millis(300);

pub const TOKEN: &str = "4711:canary-telegram-token";

#[derive(Default)]
struct Bot {
    updates: Vec<Value>,
    sent: Vec<(String, String)>,
    requests: Vec<(Instant, String)>,
    /// Whether every update is delivered again and again.
    replays: bool,
    /// How often the next answers cannot be sent, and for how many seconds nothing may be asked.
    busy: Option<u64>,
    problems: Vec<String>,
}

pub struct TelegramServer {
    address: String,
    bot: Arc<Mutex<Bot>>,
}

impl TelegramServer {
    pub fn start() -> TelegramServer {
        let bot = Arc::new(Mutex::new(Bot::default()));
        let shared = Arc::clone(&bot);
        let address = serve_json(move |request| {
            let (status, body) = answer(&shared, &request.target, &request.body);
            JsonReply::Answer(status, body)
        });
        TelegramServer { address, bot }
    }

    fn bot(&self) -> MutexGuard<'_, Bot> {
        self.bot.lock().unwrap()
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// A message in a private chat.
    pub fn write(&self, user: i64, text: &str) {
        self.write_with(user, text, &json!({}));
    }

    /// The same, with more keys.
    pub fn write_with(&self, user: i64, text: &str, more: &Value) {
        let mut bot = self.bot();
        let id = 100 + bot.updates.len();
        let mut message = json!({
            "message_id": id, "date": 1, "text": text,
            "from": { "id": user, "is_bot": false, "first_name": "A" },
            "chat": { "id": user, "type": "private" },
        });
        let more = more.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(more);
        let update = json!({ "update_id": id, "message": message });
        bot.updates.push(update);
    }

    /// Delivers every update with every request.
    pub fn replay(&self) {
        self.bot().replays = true;
    }

    /// Refuses the next request for so many seconds.
    pub fn be_busy(&self, seconds: u64) {
        self.bot().busy = Some(seconds);
    }

    /// What was sent, with its chat.
    pub fn sent(&self) -> Vec<(String, String)> {
        self.bot().sent.clone()
    }

    /// The texts that were sent to a chat.
    pub fn sent_to(&self, chat: &str) -> Vec<String> {
        let sent = self.sent().into_iter();
        sent.filter(|it| it.0 == chat).map(|it| it.1).collect()
    }

    /// When each method was called.
    pub fn requests(&self) -> Vec<(Instant, String)> {
        self.bot().requests.clone()
    }

    /// Requests that the Bot API would not have understood.
    pub fn problems(&self) -> Vec<String> {
        self.bot().problems.clone()
    }
}

fn answer(bot: &Mutex<Bot>, target: &str, body: &Value) -> (u16, Value) {
    let method = target.strip_prefix(&format!("/bot{TOKEN}/"));
    let Some(method) = method.map(str::to_owned) else {
        return (
            404,
            json!({ "ok": false, "error_code": 404, "description": "Not Found" }),
        );
    };
    {
        let mut bot = bot.lock().unwrap();
        bot.requests.push((Instant::now(), method.clone()));
        if let Some(seconds) = bot.busy.take() {
            let parameters = json!({ "retry_after": seconds });
            return (
                429,
                json!({ "ok": false, "error_code": 429, "parameters": parameters }),
            );
        }
        let known: &[&str] = match method.as_str() {
            "getUpdates" => &["offset", "limit", "timeout", "allowed_updates"],
            "sendMessage" => &["chat_id", "text", "link_preview_options"],
            _ => &[],
        };
        let keys = body.as_object().into_iter().flat_map(|it| it.keys());
        let unknown = keys.filter(|it| !known.contains(&it.as_str()));
        let unknown: Vec<String> = unknown.map(|it| format!("{method}: {it}")).collect();
        bot.problems.extend(unknown);
    }
    match method.as_str() {
        "getMe" => {
            ok(&json!({ "id": 1, "is_bot": true, "first_name": "B", "username": "ada_bot" }))
        }
        "getUpdates" => updates(bot, body),
        "sendMessage" => send(bot, body),
        _ => (404, json!({ "ok": false, "error_code": 404 })),
    }
}

fn updates(bot: &Mutex<Bot>, body: &Value) -> (u16, Value) {
    let offset = body["offset"].as_i64().unwrap_or(0);
    let limit = usize::try_from(body["limit"].as_u64().unwrap_or(100)).unwrap();
    let until = Instant::now() + SHORT_POLL;
    loop {
        {
            let bot = bot.lock().unwrap();
            let due = bot.updates.iter().filter(|it| {
                let id = it["update_id"].as_i64().unwrap();
                bot.replays || id >= offset
            });
            let due: Vec<&Value> = due.take(limit).collect();
            if !due.is_empty() {
                return ok(&json!(due));
            }
        }
        if Instant::now() >= until {
            return ok(&json!([]));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn send(bot: &Mutex<Bot>, body: &Value) -> (u16, Value) {
    let mut bot = bot.lock().unwrap();
    let (chat, text) = (body["chat_id"].as_str(), body["text"].as_str());
    let (Some(chat), Some(text)) = (chat, text) else {
        bot.problems.push(format!("sendMessage: {body}"));
        return (400, json!({ "ok": false, "description": "Bad Request" }));
    };
    if text.is_empty() || text.chars().count() > 4096 {
        return (
            400,
            json!({ "ok": false, "description": "message is too long" }),
        );
    }
    bot.sent.push((chat.to_owned(), text.to_owned()));
    ok(&json!({ "message_id": bot.sent.len() }))
}

fn ok(result: &Value) -> (u16, Value) {
    (200, json!({ "ok": true, "result": result }))
}
