//! Cuts the `OpenAPI` description to our operations, as JSON Schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::OPERATIONS;

/// Keys whose text is only for people.
const PROSE: [&str; 8] = [
    "description",
    "title",
    "example",
    "examples",
    "externalDocs",
    "discriminator",
    "deprecated",
    "summary",
];

/// The served operations, with all schemas that they refer to, directly or indirectly. `nullable`
/// becomes a type, because JSON Schema has no such key.
pub fn prune(description: &Value) -> Result<Value, String> {
    let mut names = BTreeSet::new();
    let mut operations = Vec::new();
    for (method, path) in OPERATIONS {
        let operation = &description["paths"][path][method];
        if operation.is_null() {
            return Err(format!("the description has no `{method} {path}`"));
        }
        operations.push(prune_operation(
            description,
            method,
            path,
            operation,
            &mut names,
        ));
    }
    let mut schemas = Map::new();
    while let Some(name) = names
        .iter()
        .find(|name| !schemas.contains_key(*name))
        .cloned()
    {
        let schema = &description["components"]["schemas"][&name];
        if schema.is_null() {
            return Err(format!("the description has no schema `{name}`"));
        }
        schemas.insert(name, strip(schema, &mut names));
    }
    Ok(json!({
        "source": "npm @octokit/openapi, generated/api.github.com.json (MIT License, see LICENSE)",
        "version": description["info"]["version"],
        "operations": operations,
        "components": { "schemas": schemas },
    }))
}

fn prune_operation(
    description: &Value,
    method: &str,
    path: &str,
    operation: &Value,
    names: &mut BTreeSet<String>,
) -> Value {
    let list = operation["parameters"].as_array().cloned();
    let parameters: Vec<Value> = list
        .unwrap_or_default()
        .iter()
        .map(|parameter| {
            let parameter = resolve(description, parameter);
            json!({
                "name": parameter["name"],
                "in": parameter["in"],
                "required": parameter["required"] == true,
                "schema": strip(&parameter["schema"], names),
            })
        })
        .collect();
    let content = &operation["requestBody"]["content"]["application/json"]["schema"];
    let mut responses = Map::new();
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let response = resolve(description, response);
        let schema = &response["content"]["application/json"]["schema"];
        responses.insert(status.clone(), strip(schema, names));
    }
    json!({
        "id": operation["operationId"],
        "method": method.to_uppercase(),
        "path": path,
        "parameters": parameters,
        "body": strip(content, names),
        "body_required": operation["requestBody"]["required"] == true,
        "responses": responses,
    })
}

fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    target
        .and_then(|it| description.pointer(it))
        .unwrap_or(value)
}

fn strip(schema: &Value, names: &mut BTreeSet<String>) -> Value {
    match schema {
        Value::Object(schema) => strip_object(schema, names),
        Value::Array(list) => list.iter().map(|it| strip(it, names)).collect(),
        other => other.clone(),
    }
}

fn strip_object(schema: &Map<String, Value>, names: &mut BTreeSet<String>) -> Value {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let name = target.trim_start_matches("#/components/schemas/");
        names.insert(name.to_owned());
    }
    let mut kept = Map::new();
    for (key, value) in schema {
        if key == "properties" {
            // Below here a key is the name of a property, even if it is one of the `PROSE` keys.
            let inner = value.as_object().into_iter().flatten();
            let inner = inner.map(|(name, value)| (name.clone(), strip(value, names)));
            kept.insert(key.clone(), Value::Object(inner.collect()));
        } else if key != "nullable" && !key.starts_with("x-") && !PROSE.contains(&key.as_str()) {
            kept.insert(key.clone(), strip(value, names));
        }
    }
    if schema.get("nullable") != Some(&Value::Bool(true)) {
        return Value::Object(kept);
    }
    match (kept.get("type").cloned(), kept.contains_key("enum")) {
        (Some(kind), false) => {
            kept.insert("type".to_owned(), json!([kind, "null"]));
            Value::Object(kept)
        }
        _ => json!({ "anyOf": [{ "type": "null" }, kept] }),
    }
}
