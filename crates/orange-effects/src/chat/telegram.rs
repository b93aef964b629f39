//! The Bot API of Telegram: reads messages by long polling, and answers.

use std::time::Duration;

use orange_config::Environment;
use orange_engine::chat::channel::AllowList;
use orange_engine::chat::message::{Addressing, Incoming, Source};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ChatError;
use super::exchange::Exchange;
use super::secret::Secret;
use crate::forge::http::Method;
use crate::forge::redact::Outbound;

/// How many messages are read at once.
const BATCH: u32 = 10;

/// The most characters of a server's explanation that are kept.
const MAX_REASON: usize = 200;

/// A bot, by its token.
pub struct Telegram {
    exchange: Exchange,
    base: String,
    wait: Duration,
}

/// Messages, and where to read on.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub messages: Vec<Incoming>,
    /// The next update to ask for; `None` if there was none.
    pub next: Option<i64>,
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
    ) -> Telegram {
        let base = format!("{}/bot{}", server.trim_end_matches('/'), secret.expose());
        Telegram {
            exchange: Exchange::new(environment, secret, wait),
            base,
            wait,
        }
    }

    /// The user name of the bot.
    pub fn fetch_name(&self) -> Result<String, ChatError> {
        let user: User = self.call("getMe", &json!({}))?;
        Ok(user.username.unwrap_or_default())
    }

    /// Reads the messages from an update on; confirms all earlier ones.
    pub fn fetch(
        &self,
        from: Option<i64>,
        name: &str,
        allow: &AllowList,
    ) -> Result<Batch, ChatError> {
        let mut query = json!({
            "timeout": self.wait.as_secs(),
            "limit": BATCH,
            "allowed_updates": ["message"],
        });
        if let Some(from) = from {
            query["offset"] = json!(from);
        }
        let updates: Vec<Value> = self.call("getUpdates", &query)?;
        let ids = updates.iter().filter_map(|it| it["update_id"].as_i64());
        let next = ids.max().map(|it| it.saturating_add(1));
        // An update that cannot be read must not stop the others.
        let read = |it| serde_json::from_value::<Update>(it).ok();
        let updates = updates.into_iter().filter_map(read);
        let messages = updates.filter_map(|it| incoming(it, name, allow));
        Ok(Batch {
            messages: messages.collect(),
            next,
        })
    }

    /// Sends an answer to a chat.
    pub fn send(&self, chat: &str, text: &Outbound) -> Result<(), ChatError> {
        let body = json!({
            "chat_id": chat,
            "text": text,
            "link_preview_options": { "is_disabled": true },
        });
        self.call::<Value>("sendMessage", &body).map(|_| ())
    }

    fn call<T: for<'a> Deserialize<'a>>(&self, method: &str, body: &Value) -> Result<T, ChatError> {
        let address = format!("{}/{method}", self.base);
        let mut answer = self
            .exchange
            .send(Method::POST, address, Some(body), false)?;
        let error = match answer.status {
            200 if answer.body["ok"] == true => {
                return serde_json::from_value(answer.body["result"].take())
                    .map_err(|it| self.exchange.hidden(ChatError::Malformed(it.to_string())));
            }
            // A wrong token is an unknown address.
            401 | 404 => ChatError::TokenRejected,
            409 => ChatError::ReadElsewhere,
            429 => {
                let seconds = answer.body["parameters"]["retry_after"].as_u64();
                let seconds = seconds.or(answer.retry_after).unwrap_or(30);
                ChatError::Busy { seconds }
            }
            status if status >= 500 => ChatError::ServerFailed(status),
            status => {
                let reason = answer.body["description"].as_str().unwrap_or_default();
                let is_plain = |c: &char| !c.is_control();
                let reason: String = reason.chars().filter(is_plain).take(MAX_REASON).collect();
                ChatError::Refused(format!("{status} {reason}"))
            }
        };
        Err(self.exchange.hidden(error))
    }
}

/// A message as the engine judges it; `None` if it has no text.
fn incoming(update: Update, name: &str, allow: &AllowList) -> Option<Incoming> {
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
    let is_allowed = allow.allows(&sender) && (is_private || allow.allows(&room));
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
