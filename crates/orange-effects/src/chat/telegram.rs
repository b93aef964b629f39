//! The Bot API of Telegram: reads messages by long polling, and answers.

use std::time::Duration;

use orange_config::Environment;
use orange_engine::chat::channel::AllowLists;
use orange_engine::chat::message::{Addressing, Incoming, Source};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Batch, ChatClient, MessageRef};
use super::error::ChatError;
use super::exchange::Exchange;
use super::secret::Secret;
use crate::forge::http::Method;
use crate::forge::redact::Outbound;

/// How many messages are read at once.
const BATCH: u32 = 10;

/// A bot, by its token.
pub struct Telegram {
    exchange: Exchange,
    base: String,
    wait: Duration,
    allow: AllowLists,
}

#[derive(Deserialize)]
struct Update {
    update_id: i64,
    /// Absent for everything that is not a new message, such as an edit.
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    from: Option<User>,
    chat: Chat,
    #[serde(default)]
    text: Option<String>,
    /// Set if a group or channel, not a person, is the author.
    #[serde(default)]
    sender_chat: Option<Value>,
    #[serde(default)]
    via_bot: Option<Value>,
    #[serde(default)]
    forward_origin: Option<Value>,
    #[serde(default)]
    forward_date: Option<Value>,
    #[serde(default)]
    edit_date: Option<Value>,
}

#[derive(Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    username: Option<String>,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

impl Telegram {
    /// A bot on a server; a request for messages waits up to `wait` for one.
    pub fn new(
        server: &str,
        secret: Secret,
        environment: &Environment,
        wait: Duration,
        allow: AllowLists,
    ) -> Telegram {
        let base = format!("{}/bot{}", server.trim_end_matches('/'), secret.expose());
        Telegram {
            exchange: Exchange::new(environment, secret, wait),
            base,
            wait,
            allow,
        }
    }

    fn call<T: for<'a> Deserialize<'a>>(&self, method: &str, body: &Value) -> Result<T, ChatError> {
        let address = format!("{}/{method}", self.base);
        let mut answer = self
            .exchange
            .send(Method::POST, address, Some(body), false)?;
        match answer.status {
            200 if answer.body["ok"] == true => {
                serde_json::from_value(answer.body["result"].take())
                    .map_err(|it| self.exchange.hidden(ChatError::Malformed(it.to_string())))
            }
            // A wrong token is an unknown address.
            404 => Err(ChatError::TokenRejected),
            409 => Err(ChatError::ReadElsewhere),
            _ => {
                let pause = answer.body["parameters"]["retry_after"].as_u64();
                let reason = answer.body["description"].as_str().unwrap_or_default();
                Err(self.exchange.refusal(&answer, reason, pause))
            }
        }
    }
}

impl ChatClient for Telegram {
    /// The user name of the bot.
    fn fetch_name(&self) -> Result<String, ChatError> {
        let user: User = self.call("getMe", &json!({}))?;
        Ok(user.username.unwrap_or_default())
    }

    /// Reads the messages from an update on; confirms all earlier ones.
    fn fetch(&self, position: Option<&str>, name: &str) -> Result<Batch, ChatError> {
        let mut query = json!({
            "timeout": self.wait.as_secs(),
            "limit": BATCH,
            "allowed_updates": ["message"],
        });
        if let Some(from) = position.and_then(|it| it.parse::<i64>().ok()) {
            query["offset"] = json!(from);
        }
        let updates: Vec<Value> = self.call("getUpdates", &query)?;
        let ids = updates.iter().filter_map(|it| it["update_id"].as_i64());
        let next = ids.max().map(|it| it.saturating_add(1));
        // An update that cannot be read must not stop the others.
        let read = |it| serde_json::from_value::<Update>(it).ok();
        let updates = updates.into_iter().filter_map(read);
        let messages = updates.filter_map(|it| incoming(it, name, &self.allow));
        Ok(Batch {
            messages: messages.collect(),
            next: next.map(|it| it.to_string()),
            ..Batch::default()
        })
    }

    fn send(&self, message: MessageRef<'_>, text: &Outbound) -> Result<(), ChatError> {
        let body = json!({
            "chat_id": message.room,
            "text": text,
            "link_preview_options": { "is_disabled": true },
        });
        self.call::<Value>("sendMessage", &body).map(|_| ())
    }

    fn find_problems(&self, _: &str) -> Result<Vec<String>, ChatError> {
        Ok(Vec::new())
    }
}

/// A message as the engine judges it; `None` if it has no text.
fn incoming(update: Update, name: &str, allow: &AllowLists) -> Option<Incoming> {
    let message = update.message?;
    let text = message.text?;
    let is_private = message.chat.kind == "private";
    let sender = message.from.as_ref().map(|it| it.id.to_string());
    let sender = sender.unwrap_or_default();
    let room = message.chat.id.to_string();
    let is_bot = message.from.as_ref().is_none_or(|it| it.is_bot)
        || message.sender_chat.is_some()
        || message.via_bot.is_some();
    let source = if is_bot {
        Source::Bot
    } else if message.forward_origin.is_some() || message.forward_date.is_some() {
        Source::Forwarded
    } else if message.edit_date.is_some() {
        Source::Edit
    } else {
        Source::Person
    };
    // In a group everyone reads the answer, so the group has to be allowed too.
    let is_allowed = allow.users.allows(&sender) && (is_private || allow.rooms.allows(&room));
    Some(Incoming {
        // Each bot counts its updates.
        id: format!("{name}:{}", update.update_id),
        room,
        sender,
        text,
        source,
        addressing: if is_private {
            Addressing::Direct
        } else {
            Addressing::Named(name.to_owned())
        },
        here: Vec::new(),
        is_allowed,
    })
}

#[cfg(test)]
mod tests;
