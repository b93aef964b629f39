//! Which API a request speaks, and what all of them share.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::script::{Act, Fault};
use crate::tools::{Tool, call};
use crate::{anthropic, chat, gemini, responses};

/// The APIs that agents speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// What the model answers with, before it is cut into lines of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Distinguishes this answer and its call from every other one.
    pub number: usize,
    pub act: Reply,
}

/// An act that the agent has a tool for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Words(String),
    Call { name: String, arguments: Value },
}

impl Api {
    /// The API of a path, if a conversation goes over it.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") {
            Some(Api::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Api::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Api::Chat)
        } else if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") {
            Some(Api::Gemini)
        } else {
            None
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Api::Anthropic => "anthropic",
            Api::Responses => "responses",
            Api::Chat => "chat",
            Api::Gemini => "gemini",
        }
    }

    /// What was said so far.
    pub fn read(self, path: &str, body: &Value) -> Conversation {
        match self {
            Api::Anthropic => anthropic::read(body),
            Api::Responses => responses::read(body),
            Api::Chat => chat::read(body),
            Api::Gemini => gemini::read(path, body),
        }
    }

    /// The pieces of a stream, or the one piece of a whole answer.
    pub fn write(self, conversation: &Conversation, answer: &Answer) -> Vec<String> {
        match self {
            Api::Anthropic => anthropic::write(conversation, answer),
            Api::Responses => responses::write(conversation, answer),
            Api::Chat => chat::write(conversation, answer),
            Api::Gemini => gemini::write(conversation, answer),
        }
    }

    /// The HTTP status and body with which this API refuses.
    pub fn refuse(self, fault: Fault) -> (u16, Value) {
        match self {
            Api::Anthropic => anthropic::refuse(fault),
            Api::Responses | Api::Chat => responses::refuse(fault),
            Api::Gemini => gemini::refuse(fault),
        }
    }
}

/// What an agent is answered: a call of its tool, or words where it wants JSON or has no such tool.
pub fn reply(conversation: &Conversation, act: Act) -> Reply {
    if conversation.wants_json {
        return Reply::Words(r#"{"reasoning":"scripted","next_speaker":"user"}"#.to_owned());
    }
    match (call(&conversation.tools, &act), act) {
        (Some((name, arguments)), _) => Reply::Call { name, arguments },
        (None, Act::Say(text)) => Reply::Words(text),
        (None, act) => Reply::Words(format!("No tool for {act:?}.")),
    }
}

/// The tools of a list: each a name and the shape of its arguments.
pub fn tools<'a>(tools: impl Iterator<Item = (&'a str, &'a Value)>) -> Vec<Tool> {
    let tools = tools.map(|(name, shape)| Tool {
        name: name.to_owned(),
        shape: shape.clone(),
    });
    tools.collect()
}

/// The text of a value that is a text, or a list of parts with texts.
pub fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part {
                Value::String(text) => text.clone(),
                part => part["text"].as_str().unwrap_or_default().to_owned(),
            });
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The elements of a value that is a list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// One event of a stream without a name.
pub fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// One event of a stream; its name is also the type within it.
pub fn event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}
