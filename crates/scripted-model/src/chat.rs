//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use crate::api::{Answer, Reply, data, list, text, tools};
use crate::conversation::{Conversation, Message};

pub fn read(body: &Value) -> Conversation {
    let mut messages = Vec::new();
    for message in list(&body["messages"]) {
        let words = text(&message["content"]);
        match message["role"].as_str() {
            Some("user") => messages.push(Message::User(words)),
            Some("assistant") => messages.push(Message::Model(words)),
            Some("tool") => messages.push(Message::Result(words)),
            _ => {}
        }
    }
    let offered = list(&body["tools"])
        .iter()
        .map(|tool| &tool["function"])
        .filter_map(|it| Some((it["name"].as_str()?, &it["parameters"])));
    Conversation {
        said: messages,
        tools: tools(offered),
        wants_json: body["response_format"]["type"] == "json_schema",
        streams: body["stream"] == true,
        model: body["model"].as_str().unwrap_or_default().to_owned(),
    }
}

pub fn write(conversation: &Conversation, answer: &Answer) -> Vec<String> {
    let number = answer.number;
    let (message, reason) = match &answer.act {
        Reply::Words(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Reply::Call { name, arguments } => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let id = format!("call_{number}");
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
    };
    let tokens = answer.tokens;
    let usage =
        json!({"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20});
    let part = |kind: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": kind, "created": 1,
            "model": conversation.model, "choices": choices, "usage": usage,
        })
    };
    if !conversation.streams {
        let choice = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return vec![part("chat.completion", choice, &usage).to_string()];
    }
    let kind = "chat.completion.chunk";
    let first = json!([{"index": 0, "delta": message, "finish_reason": null}]);
    let last = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    vec![
        data(&part(kind, first, &Value::Null)),
        data(&part(kind, last, &Value::Null)),
        data(&part(kind, json!([]), &usage)),
        "data: [DONE]\n\n".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_messages_are_results() {
        let body = json!({
            "messages": [
                {"role": "system", "content": "rules"},
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": null, "tool_calls": []},
                {"role": "tool", "tool_call_id": "1", "content": "out"},
            ],
            "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}],
        });
        let read = read(&body);
        assert_eq!(
            read.said,
            [
                Message::User(String::from("go")),
                Message::Model(String::new()),
                Message::Result(String::from("out")),
            ]
        );
        assert_eq!(read.tools[0].name, "bash");
    }
}
