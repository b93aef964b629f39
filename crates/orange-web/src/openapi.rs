//! The description of the API, from its table and the published schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::limits::MAX_WAIT;
use crate::operations::{Kind, OPERATIONS, Operation, Parameter, Place};
use crate::router::{DESCRIPTION, EVENTS, PAIR, WEBHOOK};
use crate::{ERROR_SHAPE, EVENT_SHAPE, PAIR_SHAPE};

/// The published schema of a shape.
#[derive(Clone, Debug)]
pub struct ShapeSchema {
    pub name: &'static str,
    pub schema: Value,
}

/// The document, with what `about` says about each command, in `OpenAPI` 3.1. Fails if two schemas have the same name, or if a shape has none.
pub fn document(
    version: &str,
    shapes: &[ShapeSchema],
    about: impl Fn(&str) -> String,
) -> Result<Value, String> {
    let mut schemas = Map::new();
    let used = OPERATIONS.iter().map(|it| it.shape);
    for name in used.chain([ERROR_SHAPE, EVENT_SHAPE, PAIR_SHAPE]) {
        let shape = shapes.iter().find(|it| it.name == name);
        let shape = shape.ok_or_else(|| format!("there is no schema `{name}`"))?;
        add_shape(&mut schemas, shape)?;
    }
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in OPERATIONS {
        let method = if operation.is_read() { "get" } else { "post" };
        let described = describe(operation, &about(operation.command));
        let path = paths.entry(operation.path).or_default();
        path.insert(method.to_owned(), described);
    }
    for (path, method, described) in fixed_paths() {
        let entry = paths.entry(path).or_default();
        entry.insert(method.to_owned(), described);
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "orange",
            "version": version,
            "description": "The commands of orange over HTTP. Each operation names its command, \
                and answers what that command prints with --json.",
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{ "url": "/" }],
        "security": [{ "device": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "device": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of a device that was paired.",
                },
            },
        },
    }))
}

/// The name of a shape among the components.
fn component(shape: &str) -> String {
    shape.replace('/', ".")
}

fn reference(shape: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", component(shape)) })
}

/// Adds a schema, and each of its definitions as a schema of its own.
fn add_shape(schemas: &mut Map<String, Value>, shape: &ShapeSchema) -> Result<(), String> {
    let mut schema = shape.schema.clone();
    let definitions = schema.as_object_mut().and_then(|it| {
        it.remove("$schema");
        it.remove("$defs")
    });
    let definitions = match definitions {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let own = [(component(shape.name), schema)];
    for (name, mut definition) in own.into_iter().chain(definitions) {
        move_references(&mut definition);
        let known = schemas.get(&name);
        if known.is_some_and(|known| *known != definition) {
            let shape = shape.name;
            return Err(format!(
                "two schemas have the name `{name}`, one of them in `{shape}`"
            ));
        }
        schemas.insert(name, definition);
    }
    Ok(())
}

/// Lets references lead to the components.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = format!("#/components/schemas/{name}");
            }
            object.values_mut().for_each(move_references);
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        _ => {}
    }
}

fn describe(operation: &Operation, about: &str) -> Value {
    let mut parameters = Vec::new();
    let (mut keys, mut required) = (Map::new(), Vec::new());
    for parameter in operation.parameters {
        let place = match parameter.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Body => {
                keys.insert(parameter.name.to_owned(), schema_of(parameter));
                if parameter.is_required {
                    required.push(parameter.name);
                }
                continue;
            }
        };
        parameters.push(json!({
            "name": parameter.name,
            "in": place,
            "required": parameter.is_required,
            "schema": schema_of(parameter),
            "explode": false,
            "style": if place == "path" { "simple" } else { "form" },
        }));
    }
    if operation.needs_version {
        parameters.push(json!({
            "name": "If-Match",
            "in": "header",
            "required": true,
            "description": "The version of the task that was seen, in quotes.",
            "schema": { "type": "string", "pattern": "^\"[0-9]+\"$" },
        }));
    }
    let mut described = json!({
        "operationId": operation.id(),
        "summary": about,
        "description": format!("Runs `orange {}`.", operation.command),
        "parameters": parameters,
        "responses": responses(operation),
        "x-orange-command": operation.command,
        "x-orange-scope": operation.scope,
    });
    if !operation.is_read() {
        let schema = json!({
            "type": "object",
            "properties": keys,
            "required": required,
            "additionalProperties": false,
        });
        described["requestBody"] = json_content("The values.", &schema);
        described["requestBody"]["required"] = json!(true);
    }
    described
}

fn responses(operation: &Operation) -> Value {
    let answer = reference(operation.shape);
    let mut responses = json!({
        "200": json_content("What the command answered.", &answer),
        "default": error("An error."),
    });
    if !operation.is_read() {
        let text = "What the command answered; its effects are still in progress.";
        responses["202"] = json_content(text, &answer);
    }
    if operation.needs_version {
        responses["412"] = error("The task is no longer as it was seen.");
    }
    responses
}

fn error(text: &str) -> Value {
    json_content(text, &reference(ERROR_SHAPE))
}

fn json_content(text: &str, schema: &Value) -> Value {
    json!({ "description": text, "content": { "application/json": { "schema": schema } } })
}

/// What is no operation: pairing, webhooks, events, and this document.
fn fixed_paths() -> [(&'static str, &'static str, Value); 4] {
    let pair = json!({
        "operationId": "pair",
        "summary": "Exchange a code of `orange web pair` for a token",
        "security": [],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": {
                "type": "object",
                "properties": { "code": { "type": "string" } },
                "required": ["code"],
                "additionalProperties": false,
            } } },
        },
        "responses": {
            "200": json_content("The token; it is shown only here.", &reference(PAIR_SHAPE)),
            "default": error("An error."),
        },
    });
    let webhook = json!({
        "operationId": "deliver_webhook",
        "summary": "Tell that something has changed in a repository on GitHub",
        "description": "For GitHub, with the secret of `orange web webhook`.",
        "security": [],
        "parameters": [
            {
                "name": "X-Hub-Signature-256",
                "in": "header",
                "required": true,
                "schema": { "type": "string", "pattern": "^sha256=[0-9a-f]{64}$" },
            },
            {
                "name": "X-GitHub-Delivery",
                "in": "header",
                "required": true,
                "schema": { "type": "string", "minLength": 1, "maxLength": 64 },
            },
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "type": "object" } } },
        },
        "responses": {
            "204": { "description": "It was taken, or was taken before." },
            "default": error("An error."),
        },
    });
    let events = json!({
        "operationId": "get_events",
        "summary": "Follow what changes",
        "description": "A stream of server-sent events. The data of each is one object.",
        "parameters": [{
            "name": "Last-Event-ID",
            "in": "header",
            "required": false,
            "description": "The id of the last event that was seen; the stream continues after it.",
            "schema": { "type": "integer", "minimum": 0 },
        }],
        "responses": {
            "200": {
                "description": "The events: `ready`, `change` and `reset`.",
                "content": { "text/event-stream": { "schema": reference(EVENT_SHAPE) } },
            },
            "default": error("An error."),
        },
        "x-orange-scope": "read",
    });
    let description = json!({
        "operationId": "get_openapi",
        "summary": "Get this document",
        "responses": {
            "200": json_content("This document.", &json!({ "type": "object" })),
            "default": error("An error."),
        },
        "x-orange-scope": "read",
    });
    [
        (PAIR, "post", pair),
        (WEBHOOK, "post", webhook),
        (EVENTS, "get", events),
        (DESCRIPTION, "get", description),
    ]
}

fn schema_of(parameter: &Parameter) -> Value {
    match parameter.kind {
        Kind::Task => json!({ "type": "string", "pattern": "^[a-z0-9]{1,32}$" }),
        Kind::Name => json!({ "type": "string", "pattern": NAME }),
        Kind::Workflow => json!({ "type": "string", "pattern": WORKFLOW }),
        Kind::Names => json!({
            "type": "array",
            "maxItems": 20,
            "items": { "type": "string", "pattern": NAME },
        }),
        Kind::Shape => json!({ "type": "string", "pattern": "^[a-z.]{1,64}/[0-9]{1,4}$" }),
        Kind::Number => json!({ "type": "integer", "minimum": 0 }),
        Kind::Wait => json!({
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_WAIT,
            "description": "How many seconds to wait for orange to finish its part.",
        }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Commit => json!({ "type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$" }),
        Kind::Period => json!({ "type": "string", "pattern": "^[0-9]{1,6}[mhdw]$" }),
        Kind::Text | Kind::Summary | Kind::PlainText => {
            json!({ "type": "string", "maxLength": 65536 })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(choices) => json!({ "type": "string", "enum": choices }),
    }
}

const WORKFLOW: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
