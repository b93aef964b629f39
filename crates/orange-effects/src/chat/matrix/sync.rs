//! Reads the answer to a request for messages; trusts nothing in it.

use orange_engine::chat::channel::AllowList;
use orange_engine::chat::message::Source;
use serde_json::{Value, json};

use super::super::error::ChatError;

/// The most bytes of an id; the specification names it too.
const MAX_ID: usize = 255;

/// The most bytes of a position.
const MAX_POSITION: usize = 4096;

/// The most events of a room that are read at once, the latest.
const MAX_EVENTS: usize = 100;

/// A message with text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) room: String,
    pub(super) sender: String,
    pub(super) text: String,
    pub(super) source: Source,
}

/// Asks for messages, and for changes of members, which show when the account joined.
pub(super) fn filter() -> Value {
    let none = json!({ "not_types": ["*"] });
    json!({
        "presence": none,
        "account_data": none,
        "room": {
            "account_data": none,
            "ephemeral": none,
            "state": none,
            "timeline": { "types": ["m.room.message", "m.room.member"], "limit": MAX_EVENTS },
        },
    })
}

/// Where to read on.
pub(super) fn next_position(body: &Value) -> Result<String, ChatError> {
    let is_usable = |it: &&str| {
        (1..=MAX_POSITION).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_graphic())
    };
    let next = body["next_batch"].as_str().filter(is_usable);
    let next = next.ok_or_else(|| ChatError::Malformed(String::from("it has no `next_batch`")))?;
    Ok(next.to_owned())
}

/// The rooms that a listed user invites the account to.
pub(super) fn invitations(body: &Value, own: &str, users: &AllowList) -> Vec<String> {
    let invited = rooms(body, "invite").filter(|(_, room)| {
        list(&room["invite_state"]["events"]).any(|event| {
            let inviter = event["sender"].as_str().unwrap_or_default();
            is_member(event, own, "invite") && users.allows(inviter)
        })
    });
    invited.map(|(id, _)| id.to_owned()).collect()
}

/// The messages in all rooms. What was written before the account joined a room is left out.
pub(super) fn events(body: &Value, own: &str) -> Vec<Event> {
    let mut found = Vec::new();
    for (id, room) in rooms(body, "join") {
        let all: Vec<&Value> = list(&room["timeline"]["events"]).collect();
        let joined = all.iter().rposition(|it| is_join(it, own));
        let since_join = &all[joined.unwrap_or(0)..];
        let latest = &since_join[since_join.len().saturating_sub(MAX_EVENTS)..];
        found.extend(latest.iter().filter_map(|it| read(id, it, own)));
    }
    found
}

fn rooms<'a>(body: &'a Value, kind: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let rooms = body["rooms"][kind].as_object().into_iter().flatten();
    let rooms = rooms.map(|(id, room)| (id.as_str(), room));
    rooms.filter(|(id, _)| is_room(id))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_member(event: &Value, user: &str, membership: &str) -> bool {
    event["type"] == "m.room.member"
        && event["state_key"] == user
        && event["content"]["membership"] == membership
}

/// Whether the account came into the room, rather than changed its name there.
fn is_join(event: &Value, own: &str) -> bool {
    is_member(event, own, "join") && event["unsigned"]["prev_content"]["membership"] != "join"
}

/// A message of a room; `None` if it has no text. A deleted message has none either.
fn read(room: &str, event: &Value, own: &str) -> Option<Event> {
    let content = &event["content"];
    if event["type"] != "m.room.message" || event.get("state_key").is_some() {
        return None;
    }
    let sender = event["sender"].as_str().filter(|it| is_user(it))?;
    let id = event["event_id"].as_str().filter(|it| is_id(it, '$'))?;
    let text = content["body"].as_str()?;
    let is_edit = content["m.relates_to"]["rel_type"] == "m.replace"
        || content.get("m.new_content").is_some();
    let source = match content["msgtype"].as_str()? {
        _ if sender == own => Source::Own,
        _ if is_edit => Source::Edit,
        "m.text" => Source::Person,
        // Bots answer with notices, so that no bot answers them.
        "m.notice" => Source::Bot,
        _ => return None,
    };
    Some(Event {
        id: id.to_owned(),
        room: room.to_owned(),
        sender: sender.to_owned(),
        text: text.to_owned(),
        source,
    })
}

pub(super) fn is_room(id: &str) -> bool {
    is_id(id, '!')
}

pub(super) fn is_user(id: &str) -> bool {
    is_id(id, '@') && id.contains(':')
}

fn is_id(id: &str, mark: char) -> bool {
    let rest = id.strip_prefix(mark).unwrap_or_default();
    !rest.is_empty() && id.len() <= MAX_ID && rest.bytes().all(|it| it.is_ascii_graphic())
}
