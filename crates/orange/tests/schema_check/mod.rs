//! Validates JSON answers against their published schemas.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::Value;

static KNOWN: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);

/// Where the schemas are published.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// The file of a schema.
pub fn file(name: &str) -> PathBuf {
    folder().join(format!("{}.json", name.replace('/', ".")))
}

/// Fails unless the answer matches the schema that it names, and that schema is published.
pub fn judge(answer: &Value) {
    let name = answer["schema"].as_str();
    let name = name.unwrap_or_else(|| panic!("an answer names its schema: {answer}"));
    let mut known = KNOWN.lock().unwrap();
    let validator = known.entry(name.to_owned()).or_insert_with(|| {
        let text = fs::read_to_string(file(name));
        let text = text.unwrap_or_else(|error| panic!("no published schema `{name}`: {error}"));
        let schema = serde_json::from_str(&text).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let problems: Vec<String> = validator
        .iter_errors(answer)
        .map(|problem| format!("{}: {problem}", problem.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{name}: {problems:#?}\n{answer:#}");
}
