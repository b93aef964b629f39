//! Makes a command's answer harmless for a terminal, and small enough.
//!
//! An answer has the published shape of its command. If something was left out, `left_out` says
//! what; nothing else is added.

use serde_json::{Map, Value, json};

use crate::limits::MAX_SCHEMA;
use crate::tools::{Cut, Keep, Tool};

/// The key that says what was left out.
pub const LEFT_OUT: &str = "left_out";

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolAnswer {
    /// It has the tool's shape.
    Answer(Value),
    /// An error in JSON, for the model.
    Failed(Value),
}

impl Tool {
    /// Reads what the command answered.
    pub(crate) fn answer(&self, bytes: &[u8]) -> ToolAnswer {
        let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
            let message = "the command gave no answer in JSON";
            return ToolAnswer::Failed(error("system-failed", message));
        };
        make_harmless(&mut value);
        if value["schema"] != self.shape {
            return ToolAnswer::Failed(value);
        }
        if shorten(&mut value, self.cuts, self.max_answer) {
            return ToolAnswer::Answer(value);
        }
        let message = format!(
            "the answer has more than {} bytes; the user can run `orange {}`",
            self.max_answer, self.command
        );
        ToolAnswer::Failed(error("answer-too-large", &message))
    }

    /// The schema of the answer, from the published one. One that is too large to be sent with
    /// every list of tools is only named.
    pub(crate) fn output_schema(&self, published: Option<Value>) -> Map<String, Value> {
        let published = published.map(|mut schema| {
            drop_formats(&mut schema);
            schema
        });
        let size = published.as_ref().map_or(usize::MAX, size_of);
        let mut schema = match published {
            Some(Value::Object(schema)) if size <= MAX_SCHEMA => schema,
            _ => {
                let about = format!("`orange schema {}` prints the whole schema.", self.shape);
                let named = json!({
                    "type": "object",
                    "description": about,
                    "properties": { "schema": { "const": self.shape } },
                    "required": ["schema"],
                });
                named.as_object().cloned().unwrap_or_default()
            }
        };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let about = "What was left out because the answer would have been too large.";
            let property = json!({ "type": "string", "description": about });
            properties.insert(LEFT_OUT.to_owned(), property);
        }
        schema
    }
}

/// Removes the formats of numbers, such as `uint64`: some clients do not know them, and warn.
fn drop_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let is_of_number = map.get("format").and_then(Value::as_str).is_some_and(|it| {
                it.starts_with("uint") || it.starts_with("int") || it == "double"
            });
            if is_of_number {
                map.remove("format");
            }
            map.values_mut().for_each(drop_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_formats),
        _ => {}
    }
}

/// An error in the published shape.
pub(crate) fn error(code: &str, message: &str) -> Value {
    json!({
        "schema": "orange.error/1",
        "error": { "code": code, "message": message, "details": {}, "hints": [] },
    })
}

/// Replaces characters that a terminal obeys, in every text: most of what is answered was written
/// by agents.
fn make_harmless(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_obeyed) => *text = harmless(text),
        Value::Array(items) => items.iter_mut().for_each(make_harmless),
        Value::Object(map) => {
            if map.keys().any(|key| key.contains(is_obeyed)) {
                let entries = std::mem::take(map).into_iter();
                *map = entries
                    .map(|(key, value)| (harmless(&key), value))
                    .collect();
            }
            map.values_mut().for_each(make_harmless);
        }
        _ => {}
    }
}

fn harmless(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

/// Control characters other than line ends and tabs, and characters that change the direction of
/// the text.
fn is_obeyed(it: char) -> bool {
    let is_direction = matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (it.is_control() && !matches!(it, '\n' | '\t')) || is_direction
}

/// Cuts until the answer is small enough; false if it still is not.
fn shorten(value: &mut Value, cuts: &[Cut], limit: usize) -> bool {
    let mut notes = Vec::new();
    for cut in cuts {
        let size = size_of(value) + cuts.len() * NOTE;
        if size <= limit {
            break;
        }
        let pointer = format!("/{}", cut.path.join("/"));
        let found = value.pointer_mut(&pointer);
        if let Some(note) = found.and_then(|it| cut.apply(it, size - limit)) {
            notes.push(note);
        }
    }
    if let (Value::Object(map), false) = (&mut *value, notes.is_empty()) {
        map.insert(LEFT_OUT.to_owned(), notes.join("; ").into());
    }
    size_of(value) <= limit
}

/// How many bytes a note may take.
const NOTE: usize = 100;

impl Cut {
    /// Removes at least this many bytes, or everything; returns what was left out.
    fn apply(&self, part: &mut Value, excess: usize) -> Option<String> {
        let name = self.path.join(".");
        let end = match self.keep {
            Keep::First => "last",
            Keep::Last => "first",
        };
        match part {
            Value::Array(items) => {
                let all = items.len();
                let mut removed = 0;
                while removed < excess && !items.is_empty() {
                    let item = match self.keep {
                        Keep::First => items.pop()?,
                        Keep::Last => items.remove(0),
                    };
                    removed += size_of(&item) + 1;
                }
                let count = all - items.len();
                (count > 0).then(|| format!("the {end} {count} of {all} `{name}`"))
            }
            Value::String(text) => {
                let all = text.len();
                let (kept, count) = match self.keep {
                    Keep::First => keep_first(text, excess),
                    Keep::Last => keep_last(text, excess),
                };
                *text = kept;
                (count > 0).then(|| format!("the {end} {count} of {all} bytes of `{name}`"))
            }
            _ => None,
        }
    }
}

/// The beginning of a text, at least `excess` bytes shorter in JSON, and how many bytes are gone.
fn keep_first(text: &str, excess: usize) -> (String, usize) {
    let mut removed = 0;
    let mut end = text.len();
    for (index, character) in text.char_indices().rev() {
        if removed >= excess {
            break;
        }
        removed += json_length(character);
        end = index;
    }
    let kept = text.get(..end).unwrap_or_default();
    (kept.to_owned(), text.len() - end)
}

fn keep_last(text: &str, excess: usize) -> (String, usize) {
    let mut removed = 0;
    let mut start = 0;
    for (index, character) in text.char_indices() {
        if removed >= excess {
            break;
        }
        removed += json_length(character);
        start = index + character.len_utf8();
    }
    let kept = text.get(start..).unwrap_or_default();
    (kept.to_owned(), start)
}

/// How many bytes a character takes in JSON.
fn json_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\t' => 2,
        _ => character.len_utf8(),
    }
}

/// How many bytes a value takes in JSON.
fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|it| it.name == name).unwrap()
    }

    fn answered(name: &str, value: &Value) -> Value {
        match tool(name).answer(value.to_string().as_bytes()) {
            ToolAnswer::Answer(value) => value,
            ToolAnswer::Failed(value) => panic!("{value}"),
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_replaced_everywhere() {
        let hostile = "a\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{202e}b\r\n\tä";
        let value = json!({
            "schema": "orange.task.logs/1",
            "text": hostile,
            "deep": [{ "k\u{1b}[2J": [hostile] }],
        });
        let answer = answered("task_logs", &value);
        assert!(!answer.to_string().contains("\\u00"), "{answer}");
        assert_eq!(
            answer["text"],
            "a\u{fffd}]52;c;eA==\u{fffd}\u{fffd}2J\u{fffd}b\u{fffd}\n\tä"
        );
        assert!(answer["deep"][0]["k\u{fffd}[2J"].is_array());
    }

    #[test]
    fn a_large_answer_says_what_is_left_out() {
        let text = "\u{1f980}\"\n".repeat(100_000);
        let whole = json!({ "schema": "orange.task.logs/1", "text": text });
        let answer = answered("task_logs", &whole);
        let size = answer.to_string().len();
        assert!(
            size <= tool("task_logs").max_answer && size > 60_000,
            "{size}"
        );
        let kept = answer["text"].as_str().unwrap();
        assert!(text.ends_with(kept));
        let note = answer[LEFT_OUT].as_str().unwrap();
        let count = text.len() - kept.len();
        let all = text.len();
        assert_eq!(note, format!("the first {count} of {all} bytes of `text`"));

        let events: Vec<Value> = (0..5000)
            .map(|it| json!({ "at": it, "x": "y".repeat(50) }))
            .collect();
        let whole = json!({ "schema": "orange.task.history/1", "task": "a", "events": events });
        let answer = answered("task_history", &whole);
        let kept = answer["events"].as_array().unwrap();
        assert_eq!(kept.last().unwrap()["at"], 4999);
        let note = answer[LEFT_OUT].as_str().unwrap();
        assert_eq!(
            note,
            format!("the first {} of 5000 `events`", 5000 - kept.len())
        );

        let small = json!({ "schema": "orange.task.logs/1", "text": "a" });
        assert_eq!(answered("task_logs", &small), small);
    }

    #[test]
    fn the_parts_are_cut_in_order() {
        let part = |length: usize| json!({ "files": [], "diff": "d".repeat(length) });
        let whole = json!({
            "schema": "orange.task.diff/1", "committed": part(1000), "uncommitted": part(90_000),
        });
        let answer = answered("task_diff", &whole);
        assert_eq!(answer["committed"], part(1000));
        assert!(answer["uncommitted"]["diff"].as_str().unwrap().len() > 50_000);
        let whole = json!({
            "schema": "orange.task.diff/1", "committed": part(90_000), "uncommitted": part(90_000),
        });
        let answer = answered("task_diff", &whole);
        assert_eq!(answer["uncommitted"]["diff"], "");
        assert!(
            answer[LEFT_OUT]
                .as_str()
                .unwrap()
                .contains("`committed.diff`")
        );
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let text = "x".repeat(100_000);
        let whole = json!({ "schema": "orange.task.wait/1", "outcome": text });
        let failed = tool("task_wait").answer(whole.to_string().as_bytes());
        let ToolAnswer::Failed(error) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(error["error"]["code"], "answer-too-large");
        for unreadable in ["", "no", "{}x"] {
            let failed = tool("task_wait").answer(unreadable.as_bytes());
            assert!(matches!(failed, ToolAnswer::Failed(_)));
        }
    }

    #[test]
    fn an_error_is_no_answer() {
        let refused = error("user-only", "no");
        let failed = tool("tasks").answer(refused.to_string().as_bytes());
        assert_eq!(failed, ToolAnswer::Failed(refused));
    }

    #[test]
    fn a_large_schema_is_only_named() {
        let tool = tool("task_logs");
        let small = json!({ "type": "object", "properties": { "text": { "format": "uint64" } } });
        let schema = tool.output_schema(Some(small));
        assert!(schema["properties"]["text"]["format"].is_null());
        assert!(schema["properties"]["text"].is_object());
        assert_eq!(schema["properties"][LEFT_OUT]["type"], "string");
        let large = json!({ "type": "object", "$defs": "x".repeat(20_000), "properties": {} });
        for published in [Some(large), None] {
            let schema = tool.output_schema(published);
            assert_eq!(
                schema["properties"]["schema"]["const"],
                "orange.task.logs/1"
            );
            assert!(size_of(&schema.into()) < 500);
        }
    }
}
