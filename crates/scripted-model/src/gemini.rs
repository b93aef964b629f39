//! Gemini.

use serde_json::{Value, json};

use crate::api::{Answer, Reply, data, list, tools};
use crate::conversation::{Conversation, Message};
use crate::script::Fault;

pub fn read(path: &str, body: &Value) -> Conversation {
    let mut messages = Vec::new();
    for content in list(&body["contents"]) {
        for part in list(&content["parts"]) {
            let words = || part["text"].as_str().unwrap_or_default().to_owned();
            if !part["functionResponse"].is_null() {
                messages.push(Message::Result(part["functionResponse"].to_string()));
            } else if content["role"] == "model" {
                messages.push(Message::Model(words()));
            } else {
                messages.push(Message::User(words()));
            }
        }
    }
    let offered = list(&body["tools"])
        .iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]));
    let offered = offered.filter_map(|it| {
        let shapes = [&it["parametersJsonSchema"], &it["parameters"]];
        let shape = shapes.into_iter().find(|shape| !shape.is_null())?;
        Some((it["name"].as_str()?, shape))
    });
    let config = &body["generationConfig"];
    let model = path.split("/models/").nth(1).unwrap_or_default();
    Conversation {
        said: messages,
        tools: tools(offered),
        wants_json: config["responseMimeType"] == "application/json",
        streams: path.contains(":streamGenerateContent"),
        model: model.split(':').next().unwrap_or_default().to_owned(),
    }
}

pub fn write(conversation: &Conversation, answer: &Answer) -> Vec<String> {
    let part = match &answer.act {
        Reply::Words(text) => json!({"text": text}),
        Reply::Call { name, arguments } => {
            let id = format!("call_{}", answer.number);
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }
    };
    let candidate = |parts: Value, reason: Value| {
        json!({
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}],
            "usageMetadata": {
                "promptTokenCount": answer.tokens, "candidatesTokenCount": 20,
                "totalTokenCount": answer.tokens + 20,
            },
            "modelVersion": conversation.model,
        })
    };
    let whole = candidate(json!([part]), json!("STOP"));
    if conversation.streams {
        let first_chunk = candidate(json!([{"text": ""}]), Value::Null);
        vec![data(&first_chunk), data(&whole)]
    } else {
        vec![whole.to_string()]
    }
}

pub fn refuse(fault: Fault) -> (u16, Value) {
    let (status, kind, message) = match fault {
        Fault::Quota => (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        Fault::Overload => (
            503,
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
        ),
        Fault::Key | Fault::Cut => (400, "INVALID_ARGUMENT", "API key not valid."),
    };
    let mut error = json!({"code": status, "status": kind, "message": message});
    if fault == Fault::Quota {
        // Only with these fields is it the daily quota, and not too many requests at once.
        let violation = json!({
            "quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_model_per_day",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaValue": "50",
        });
        let kind = "type.googleapis.com/google.rpc.QuotaFailure";
        error["details"] = json!([{"@type": kind, "violations": [violation]}]);
    }
    (status, json!({"error": error}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_responses_are_results() {
        let body = json!({
            "contents": [
                {"role": "user", "parts": [{"text": "context"}, {"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": "out"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {"properties": {"command": {}}}}]}],
        });
        let read = read(
            "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
            &body,
        );
        assert_eq!(read.said.len(), 4);
        assert_eq!(read.said[1], Message::User(String::from("go")));
        assert!(matches!(&read.said[3], Message::Result(it) if it.contains("out")));
        assert_eq!(read.model, "gemini-x");
        assert!(read.streams && read.tools.len() == 1);
    }
}
