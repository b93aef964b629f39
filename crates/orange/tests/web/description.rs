//! The description of the API, and answers that match it.

use std::collections::{BTreeMap, BTreeSet};

use orange_web::operations::OPERATIONS;
use serde_json::{Value, json};

use crate::client::{Api, Response};
use crate::support::Stage;

/// Fails unless the description names this answer of this address.
pub fn judge_answer(api: &Api, token: &str, method: &str, path: &str, answer: &Response) {
    let document: Value =
        serde_json::from_str(&api.get("/api/v1/openapi.json", token).body).unwrap();
    let path = path.split('?').next().unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut fitting = paths.iter().filter(|(known, _)| fits(known, path));
    let (_, described) = fitting
        .next()
        .unwrap_or_else(|| panic!("{path} is not described"));
    let responses = &described[method]["responses"];
    let status = answer.status.to_string();
    let response = responses.get(&status).unwrap_or(&responses["default"]);
    let schema = &response["content"]["application/json"]["schema"];
    assert!(
        schema.is_object(),
        "{method} {path} {status} is not described"
    );
    let root = json!({
        "$ref": schema["$ref"],
        "components": document["components"],
    });
    let validator = jsonschema::draft202012::new(&root).unwrap();
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let problems = validator.iter_errors(&body).map(|it| it.to_string());
    let problems: Vec<String> = problems.collect();
    assert!(
        problems.is_empty(),
        "{method} {path}: {problems:#?}\n{body:#}"
    );
}

/// Whether a path is one of those that the description writes like this.
fn fits(described: &str, path: &str) -> bool {
    let (known, parts): (Vec<&str>, Vec<&str>) =
        (described.split('/').collect(), path.split('/').collect());
    known.len() == parts.len()
        && known
            .iter()
            .zip(parts)
            .all(|(known, part)| known.starts_with('{') || *known == part)
}

#[test]
fn the_description_is_what_the_command_prints_and_names_every_operation() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let served = api.get("/api/v1/openapi.json", &token);
    assert_eq!(served.status, 200);
    let printed = stage.run_ok(&["web", "openapi"]);
    assert_eq!(served.body, printed.trim_end());
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()));
            assert_ne!(operation["summary"], "", "{method} {path}");
        }
    }
    for operation in OPERATIONS {
        assert!(ids.contains(&operation.id()), "{}", operation.path);
    }
    // Every reference leads somewhere.
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    assert!(!printed.contains("$defs"));
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get("$ref") {
                found.insert(target.clone());
            }
            object.values().for_each(|it| collect(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| collect(it, found)),
        _ => {}
    }
}

#[test]
fn no_two_published_schemas_share_a_name() {
    let stage = Stage::new("minimal");
    let mut known: BTreeMap<String, (Value, String)> = BTreeMap::new();
    for name in stage.run_ok(&["schema"]).lines() {
        let schema: Value = serde_json::from_str(&stage.run_ok(&["schema", name])).unwrap();
        let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
        for (key, definition) in definitions {
            let entry = known.entry(key.clone());
            let (first, place) = entry.or_insert_with(|| (definition.clone(), name.to_owned()));
            assert_eq!(*first, definition, "`{key}` of {name} and {place}");
        }
    }
    assert!(known.len() > 100, "{}", known.len());
}
