//! The schema, the reader, and documents for both.

use std::sync::LazyLock;

use jsonschema::Validator;
use orange_engine::language::Problem;
use orange_engine::language::schema;
use orange_engine::load;
use serde_json::Value;

/// A workflow that uses every key of the language.
pub const EVERYTHING: &str = include_str!("../engine/everything.yml");

/// The schema as JSON.
pub static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(schema::SCHEMA).unwrap());

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&SCHEMA).unwrap());

/// YAML as an editor parses it: `yes` is a string since YAML 1.2.
pub fn json(yaml: &str) -> Value {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(yaml, options)
        .unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// The errors the schema reports for a document.
pub fn schema_errors(document: &Value) -> Vec<String> {
    let errors = VALIDATOR.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

pub fn is_valid(document: &Value) -> bool {
    VALIDATOR.is_valid(document)
}

/// The problems the reader reports for a document; JSON is YAML, so it reads the same text.
pub fn problems(document: &Value) -> Vec<Problem> {
    load(&document.to_string()).problems
}

/// The words between backticks, in order.
pub fn quoted(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

/// A JSON pointer to every value of a document, outermost first.
pub fn pointers(document: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while let Some(pointer) = found.get(next).cloned() {
        next += 1;
        match document.pointer(&pointer) {
            Some(Value::Object(entries)) => {
                let escaped = entries
                    .keys()
                    .map(|key| key.replace('~', "~0").replace('/', "~1"));
                found.extend(escaped.map(|key| format!("{pointer}/{key}")));
            }
            Some(Value::Array(items)) => {
                found.extend((0..items.len()).map(|index| format!("{pointer}/{index}")));
            }
            _ => {}
        }
    }
    found
}
