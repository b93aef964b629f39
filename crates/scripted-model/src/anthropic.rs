//! Anthropic Messages.

use serde_json::{Value, json};

use crate::api::{Answer, Reply, event, list, text, tools};
use crate::conversation::{Conversation, Message};
use crate::script::Fault;

pub fn read(body: &Value) -> Conversation {
    let mut messages = Vec::new();
    for message in list(&body["messages"]) {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("assistant") => messages.push(Message::Model(text(content))),
            // Reminders from the agent's program to the model; they are not part of the
            // conversation.
            Some("system") => {}
            _ => {
                for part in list(content) {
                    if part["type"] == "tool_result" {
                        messages.push(Message::Result(text(&part["content"])));
                    }
                }
                let words = text(content);
                if !words.is_empty() {
                    messages.push(Message::User(words));
                }
            }
        }
    }
    let offered = list(&body["tools"]).iter();
    let offered = offered.filter_map(|it| Some((it["name"].as_str()?, &it["input_schema"])));
    Conversation {
        said: messages,
        tools: tools(offered),
        wants_json: !body["output_config"]["format"].is_null(),
        streams: body["stream"] == true,
        model: body["model"].as_str().unwrap_or_default().to_owned(),
    }
}

pub fn write(conversation: &Conversation, answer: &Answer) -> Vec<String> {
    let number = answer.number;
    let (block, delta, reason) = match &answer.act {
        Reply::Words(text) => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Reply::Call { name, arguments } => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
    };
    let mut message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": conversation.model, "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": answer.tokens, "output_tokens": 1},
    });
    if conversation.streams {
        let usage = json!({"output_tokens": 20});
        return [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}),
            json!({"type": "message_stop"}),
        ]
        .iter()
        .map(event)
        .collect();
    }
    let mut block = block;
    match &answer.act {
        Reply::Words(text) => block["text"] = json!(text),
        Reply::Call { arguments, .. } => block["input"] = arguments.clone(),
    }
    message["content"] = json!([block]);
    message["stop_reason"] = json!(reason);
    vec![message.to_string()]
}

pub fn refuse(fault: Fault) -> (u16, Value) {
    let (status, kind, message) = match fault {
        Fault::Quota => (
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        Fault::Overload => (529, "overloaded_error", "Overloaded"),
        Fault::Key | Fault::Cut => (401, "authentication_error", "invalid x-api-key"),
    };
    let error = json!({"type": kind, "message": message});
    (status, json!({"type": "error", "error": error}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_text_and_reminders_are_distinguished() {
        let body = json!({
            "model": "m", "stream": true,
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>a</system-reminder>"},
                    {"type": "text", "text": "go"}]},
                {"role": "system", "content": "be brief"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "out"}]},
            ],
            "tools": [
                {"name": "Read", "input_schema": {}},
                {"name": "Bash", "input_schema": {"properties": {"command": {}, "description": {}}}},
            ],
        });
        let read = read(&body);
        assert_eq!(
            read.said,
            [
                Message::User(String::from("<system-reminder>a</system-reminder>\ngo")),
                Message::Model(String::new()),
                Message::Result(String::from("out")),
            ]
        );
        let names: Vec<&str> = read.tools.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["Read", "Bash"]);
        assert!(read.streams && !read.wants_json);
    }
}
