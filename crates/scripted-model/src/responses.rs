//! `OpenAI` Responses.

use serde_json::{Value, json};

use crate::api::{Answer, Reply, event, list, text, tools};
use crate::conversation::{Conversation, Message};
use crate::script::Fault;
use crate::tools::Tool;

pub fn read(body: &Value) -> Conversation {
    let mut messages = Vec::new();
    if let Some(words) = body["input"].as_str() {
        messages.push(Message::User(words.to_owned()));
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => messages.push(Message::User(text(&item["content"]))),
            ("message", Some("assistant")) => messages.push(Message::Model(text(&item["content"]))),
            ("function_call" | "custom_tool_call", _) => {
                messages.push(Message::Model(String::new()));
            }
            ("function_call_output" | "custom_tool_call_output", _) => {
                messages.push(Message::Result(text(&item["output"])));
            }
            _ => {}
        }
    }
    let offered = list(&body["tools"]).iter();
    let offered = offered.filter_map(|it| Some((it["name"].as_str()?, &it["parameters"])));
    let mut offered = tools(offered);
    for space in list(&body["tools"]) {
        let name = space["name"].as_str().unwrap_or_default();
        // The tools of a server are in a namespace of their own.
        offered.extend(list(&space["tools"]).iter().filter_map(|it| {
            let tool = it["name"].as_str()?;
            Some(Tool {
                name: format!("{name}.{tool}"),
                shape: it["parameters"].clone(),
            })
        }));
    }
    let format = &body["text"]["format"]["type"];
    Conversation {
        said: messages,
        tools: offered,
        wants_json: format == "json_schema",
        streams: body["stream"] == true,
        model: body["model"].as_str().unwrap_or_default().to_owned(),
    }
}

pub fn write(conversation: &Conversation, answer: &Answer) -> Vec<String> {
    let number = answer.number;
    let item = match &answer.act {
        Reply::Words(text) => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Reply::Call { name, arguments } => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{number}"), "status": "completed",
                "call_id": format!("call_{number}"), "name": name,
                "arguments": arguments.to_string(),
            });
            if let Some((space, name)) = name.split_once('.') {
                call["namespace"] = space.into();
                call["name"] = name.into();
            }
            call
        }
    };
    let usage = json!({
        "input_tokens": answer.tokens, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.tokens + 20,
    });
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": format!("resp_{number}"), "object": "response", "status": status,
            "model": conversation.model, "output": output, "usage": usage,
        })
    };
    let whole = response("completed", json!([item]), usage);
    if !conversation.streams {
        return vec![whole.to_string()];
    }
    let first_chunk = response("in_progress", json!([]), Value::Null);
    [
        json!({"type": "response.created", "response": first_chunk}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ]
    .iter()
    .map(event)
    .collect()
}

/// Chat Completions uses the same errors.
pub fn refuse(fault: Fault) -> (u16, Value) {
    let (status, kind, message) = match fault {
        Fault::Quota => (
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        Fault::Overload => (
            503,
            "server_is_overloaded",
            "The server is currently overloaded. Please try again later.",
        ),
        Fault::Key | Fault::Cut => (401, "invalid_api_key", "Incorrect API key provided."),
    };
    let error = json!({"type": kind, "code": kind, "param": null, "message": message});
    (status, json!({"error": error}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_outputs_are_results() {
        let body = json!({
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "1"},
                {"type": "function_call_output", "call_id": "1", "output": "out"},
            ],
            "tools": [{"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}}],
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
        assert_eq!(read.tools[0].name, "exec_command");
    }
}
