//! Which API a request uses, and code that all of them share.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::script::{Action, Fault};
use crate::tools::{Tool, call};
use crate::{anthropic, chat, gemini, responses};

/// The APIs that agents use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// The model's answer, before it is split into stream events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Distinguishes this answer and its call from every other one.
    pub number: usize,
    /// How many input tokens it says it took.
    pub tokens: u64,
    pub act: Reply,
}

/// A reply: words, or a call of one of the agent's tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Words(String),
    Call { name: String, arguments: Value },
}

impl Api {
    /// The API of a path, if it carries a conversation.
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

    /// Parses the conversation so far.
    pub fn read(self, path: &str, body: &Value) -> Conversation {
        match self {
            Api::Anthropic => anthropic::read(body),
            Api::Responses => responses::read(body),
            Api::Chat => chat::read(body),
            Api::Gemini => gemini::read(path, body),
        }
    }

    /// The events of a stream, or the single body of a whole answer.
    pub fn write(self, conversation: &Conversation, answer: &Answer) -> Vec<String> {
        match self {
            Api::Anthropic => anthropic::write(conversation, answer),
            Api::Responses => responses::write(conversation, answer),
            Api::Chat => chat::write(conversation, answer),
            Api::Gemini => gemini::write(conversation, answer),
        }
    }

    /// The HTTP status and body of this API's error.
    pub fn refuse(self, fault: Fault) -> (u16, Value) {
        match self {
            Api::Anthropic => anthropic::refuse(fault),
            Api::Responses | Api::Chat => responses::refuse(fault),
            Api::Gemini => gemini::refuse(fault),
        }
    }
}

/// The tool that one agent offers for an answer to a schema.
const ANSWER_TOOL: &str = "StructuredOutput";

/// The reply to an agent: a tool call, or words if it wants JSON or has no such tool. A JSON object
/// that the script says is the answer to a schema.
pub fn reply(conversation: &Conversation, act: Action) -> Reply {
    if let Action::Say(text) = &act
        && let Ok(answer @ Value::Object(_)) = serde_json::from_str(text)
    {
        let is_form = |tool: &&Tool| tool.name == ANSWER_TOOL;
        return match conversation.tools.iter().find(is_form) {
            Some(tool) => Reply::Call {
                name: tool.name.clone(),
                arguments: answer,
            },
            None => Reply::Words(text.clone()),
        };
    }
    if conversation.wants_json {
        return Reply::Words(r#"{"reasoning":"scripted","next_speaker":"user"}"#.to_owned());
    }
    match (call(&conversation.tools, &act), act) {
        (Some((name, arguments)), _) => Reply::Call { name, arguments },
        (None, Action::Say(text)) => Reply::Words(text),
        (None, act) => Reply::Words(format!("No tool for {act:?}.")),
    }
}

/// The tools of a list: each with a name and the schema of its arguments.
pub fn tools<'a>(tools: impl Iterator<Item = (&'a str, &'a Value)>) -> Vec<Tool> {
    let tools = tools.map(|(name, shape)| Tool {
        name: name.to_owned(),
        shape: shape.clone(),
    });
    tools.collect()
}

/// The text of a string, or of a list of parts with texts.
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

/// The elements of a list; empty for any other value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// One unnamed stream event.
pub fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// One stream event, named after its `type` field.
pub fn event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_json_object_answers_a_schema() {
        let say = |text: &str| Action::Say(text.to_owned());
        let answer = r#"{"executor":"codex"}"#;
        let mut conversation = Conversation {
            wants_json: true,
            ..Conversation::default()
        };
        assert_eq!(
            reply(&conversation, say(answer)),
            Reply::Words(answer.to_owned())
        );
        let other = reply(&conversation, say("A title"));
        assert_ne!(other, Reply::Words(String::from("A title")));
        conversation.tools = vec![Tool {
            name: ANSWER_TOOL.to_owned(),
            shape: json!({}),
        }];
        let call = Reply::Call {
            name: ANSWER_TOOL.to_owned(),
            arguments: json!({"executor": "codex"}),
        };
        assert_eq!(reply(&conversation, say(answer)), call);
    }
}
