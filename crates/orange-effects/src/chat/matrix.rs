//! The client API of Matrix: reads messages by long polling, and answers.
//!
//! Encrypted rooms are not supported: nothing there is obeyed or answered.

mod sync;

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::Environment;
use orange_engine::chat::channel::AllowLists;
use orange_engine::chat::message::{Addressing, Incoming, Source, is_command};
use serde_json::{Value, json};

use self::sync::{Event, events, invitations, is_room, is_user, next_position};
use super::client::{Batch, ChatClient, MessageRef};
use super::error::ChatError;
use super::exchange::{Answer, Exchange};
use super::secret::Secret;
use crate::forge::client::encode;
use crate::forge::http::Method;
use crate::forge::redact::Outbound;

/// How many invitations are accepted at once.
const MAX_JOINS: usize = 10;

/// An account, by its access token.
pub struct Matrix {
    exchange: Exchange,
    base: String,
    wait: Duration,
    allow: AllowLists,
}

/// What is known about rooms while one batch is read.
#[derive(Default)]
struct Rooms {
    private: BTreeMap<String, bool>,
    /// `None` if the server does not say.
    encrypted: BTreeMap<String, Option<bool>>,
}

impl Matrix {
    /// An account on a homeserver; a request for messages waits up to `wait` for one.
    pub fn new(
        server: &str,
        secret: Secret,
        environment: &Environment,
        wait: Duration,
        allow: AllowLists,
    ) -> Matrix {
        Matrix {
            exchange: Exchange::new(environment, secret, wait),
            base: format!("{}/_matrix/client/v3", server.trim_end_matches('/')),
            wait,
            allow,
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, ChatError> {
        let address = format!("{}/{path}", self.base);
        self.exchange.send(method, address, body, true)
    }

    /// The body of an answer, if the server did what it was asked.
    fn accepted(&self, answer: Answer) -> Result<Value, ChatError> {
        if answer.status == 200 {
            let is_object = answer.body.is_object();
            let words = "it is not JSON; is the address that of a Matrix homeserver?";
            return is_object
                .then_some(answer.body)
                .ok_or_else(|| ChatError::Malformed(words.to_owned()));
        }
        let millis = answer.body["retry_after_ms"].as_u64();
        let pause = millis.map(|it| it.div_ceil(1000));
        let words = |key: &str| answer.body[key].as_str().unwrap_or_default();
        let reason = format!("{} {}", words("errcode"), words("error"));
        Err(self.exchange.refusal(&answer, reason.trim(), pause))
    }

    fn get(&self, path: &str) -> Result<Value, ChatError> {
        self.accepted(self.request(Method::GET, path, None)?)
    }

    /// Asks for everything after a position; waits only if there is one.
    fn sync(&self, position: Option<&str>) -> Result<Answer, ChatError> {
        let wait = position.map_or(0, |_| self.wait.as_millis());
        let mut path = format!(
            "sync?set_presence=offline&timeout={wait}&filter={}",
            encode(&sync::filter().to_string())
        );
        if let Some(position) = position {
            path.push_str("&since=");
            path.push_str(&encode(position));
        }
        self.request(Method::GET, &path, None)
    }

    /// Begins anew: what was written until now is passed over.
    fn begin(&self, name: &str, mut notes: Vec<String>) -> Result<Batch, ChatError> {
        let body = self.accepted(self.sync(None)?)?;
        let next = next_position(&body)?;
        notes.extend(self.join_invited(&body, name)?);
        Ok(Batch {
            messages: Vec::new(),
            next: Some(next),
            notes,
        })
    }

    /// Accepts the invitations of listed users. One that fails is passed over, because it could
    /// fail forever.
    fn join_invited(&self, body: &Value, name: &str) -> Result<Vec<String>, ChatError> {
        let mut notes = Vec::new();
        let invited = invitations(body, name, &self.allow.users);
        for room in invited.iter().take(MAX_JOINS) {
            let path = format!("rooms/{}/join", encode(room));
            let answer = self.request(Method::POST, &path, Some(&json!({})));
            match answer.and_then(|it| self.accepted(it)) {
                Ok(_) => notes.push(format!("joined {room}")),
                Err(error @ (ChatError::Busy { .. } | ChatError::TokenRejected)) => {
                    return Err(error);
                }
                Err(error) => notes.push(format!(
                    "cannot join {room}: {error}; invite {name} there again"
                )),
            }
        }
        Ok(notes)
    }

    fn judge(&self, event: Event, rooms: &mut Rooms) -> Result<Incoming, ChatError> {
        let allow = &self.allow;
        let mut is_allowed = allow.users.allows(&event.sender) && allow.rooms.allows(&event.room);
        let mut source = event.source;
        let mut addressing = Addressing::Prefixed;
        if is_allowed && source == Source::Person {
            if !is_command(&event.text) && self.is_private(&event.room, rooms)? {
                addressing = Addressing::Direct;
            }
            if addressing == Addressing::Direct || is_command(&event.text) {
                match self.is_encrypted(&event.room, rooms)? {
                    Some(false) => {}
                    Some(true) => source = Source::EncryptedRoom,
                    None => is_allowed = false,
                }
            }
        }
        Ok(Incoming {
            id: event.id,
            room: event.room,
            sender: event.sender,
            text: event.text,
            source,
            addressing,
            here: Vec::new(),
            is_allowed,
        })
    }

    /// Whether the account and one other are alone in a room.
    fn is_private(&self, room: &str, rooms: &mut Rooms) -> Result<bool, ChatError> {
        if let Some(known) = rooms.private.get(room) {
            return Ok(*known);
        }
        let members = match self.get(&format!("rooms/{}/joined_members", encode(room))) {
            Err(ChatError::Refused(_)) => None,
            body => body?["joined"].as_object().map(serde_json::Map::len),
        };
        rooms.private.insert(room.to_owned(), members == Some(2));
        Ok(members == Some(2))
    }

    /// Whether a room is encrypted; `None` if the server does not say.
    fn is_encrypted(&self, room: &str, rooms: &mut Rooms) -> Result<Option<bool>, ChatError> {
        if let Some(known) = rooms.encrypted.get(room) {
            return Ok(*known);
        }
        let path = format!("rooms/{}/state/m.room.encryption", encode(room));
        let answer = self.request(Method::GET, &path, None)?;
        let is_missing = answer.status == 404 && answer.body["errcode"] == "M_NOT_FOUND";
        let encrypted = match self.accepted(answer) {
            Ok(_) => Some(true),
            Err(ChatError::Refused(_)) => is_missing.then_some(false),
            Err(error) => return Err(error),
        };
        rooms.encrypted.insert(room.to_owned(), encrypted);
        Ok(encrypted)
    }
}

impl ChatClient for Matrix {
    /// The id of the user.
    fn fetch_name(&self) -> Result<String, ChatError> {
        let body = self.get("account/whoami")?;
        let name = body["user_id"].as_str().filter(|it| is_user(it));
        let name = name.ok_or_else(|| ChatError::Malformed(String::from("it names no user")))?;
        Ok(name.to_owned())
    }

    fn fetch(&self, position: Option<&str>, name: &str) -> Result<Batch, ChatError> {
        let Some(position) = position else {
            return self.begin(name, Vec::new());
        };
        let answer = self.sync(Some(position))?;
        if answer.status == 400 {
            // It was restored from a backup, or it is another server with the same name.
            let note = "the server does not know how far its messages were read; orange begins \
                        anew and passes over what was written until now";
            return self.begin(name, vec![note.to_owned()]);
        }
        let body = self.accepted(answer)?;
        let next = next_position(&body)?;
        let notes = self.join_invited(&body, name)?;
        let mut rooms = Rooms::default();
        let messages = events(&body, name)
            .into_iter()
            .map(|it| self.judge(it, &mut rooms));
        Ok(Batch {
            messages: messages.collect::<Result<_, _>>()?,
            next: Some(next).filter(|it| it != position),
            notes,
        })
    }

    /// Sends an answer. The server recognises the id of the message, so an answer that is sent
    /// again arrives once.
    fn send(&self, message: MessageRef<'_>, text: &Outbound) -> Result<(), ChatError> {
        let path = format!(
            "rooms/{}/send/m.room.message/{}",
            encode(message.room),
            encode(&format!("orange-{}", message.id))
        );
        let body = json!({ "msgtype": "m.notice", "body": text, "m.mentions": {} });
        let answer = self.request(Method::PUT, &path, Some(&body))?;
        self.accepted(answer).map(|_| ())
    }

    fn find_problems(&self, name: &str) -> Result<Vec<String>, ChatError> {
        let mut problems = Vec::new();
        for user in self.allow.users.ids().filter(|it| !is_user(it)) {
            problems.push(format!(
                "`{user}` is not the full id of a user, such as @ann:example.org"
            ));
        }
        if self.allow.rooms.is_empty() {
            problems.push(String::from("`chat.matrix.rooms` lists no room"));
        }
        let body = self.get("joined_rooms")?;
        let joined = body["joined_rooms"].as_array();
        let is_joined = |room: &str| joined.is_some_and(|it| it.iter().any(|it| it == room));
        let mut rooms = Rooms::default();
        for room in self.allow.rooms.ids() {
            if !is_room(room) {
                problems.push(format!(
                    "`{room}` is not the id of a room: it begins with !"
                ));
            } else if !is_joined(room) {
                problems.push(format!("{name} is not in {room}; invite it there"));
            } else if self.is_encrypted(room, &mut rooms)? != Some(false) {
                problems.push(format!(
                    "{room} is encrypted, which orange does not support; use a room without \
                     encryption"
                ));
            }
        }
        Ok(problems)
    }
}

#[cfg(test)]
mod tests;
