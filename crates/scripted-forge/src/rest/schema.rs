//! GitHub's description of the served operations; checks requests and answers against it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::stop::stop;

/// A parameter of a path or a query.
#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub is_path: bool,
    pub required: bool,
    pub schema: Value,
}

#[derive(Debug)]
pub struct Operation {
    /// GitHub's operation id, such as `pulls/create`.
    pub id: String,
    pub method: String,
    pub path: String,
    pub parameters: Vec<Parameter>,
    /// The schema of the body, or null.
    pub body: Value,
    pub body_required: bool,
    responses: HashMap<u16, Value>,
}

/// All served operations, from the pruned description.
pub static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let list = DESCRIPTION["operations"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter().map(read_operation).collect()
});

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../schema/rest.json");
    serde_json::from_str(text).unwrap_or_else(|error| stop(&format!("schema/rest.json: {error}")))
});

/// Compiled schemas, by the text of the schema: compiling takes longer than validating.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn read_operation(operation: &Value) -> Operation {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let responses = operation["responses"].as_object().into_iter().flatten();
    Operation {
        id: text(&operation["id"]),
        method: text(&operation["method"]),
        path: text(&operation["path"]),
        parameters: parameters
            .map(|it| Parameter {
                name: text(&it["name"]),
                is_path: it["in"] == "path",
                required: it["required"] == true,
                schema: it["schema"].clone(),
            })
            .collect(),
        body: operation["body"].clone(),
        body_required: operation["body_required"] == true,
        responses: responses
            .filter_map(|(status, schema)| Some((status.parse().ok()?, schema.clone())))
            .collect(),
    }
}

impl Operation {
    /// The values of the path's parameters, when the path is this operation's.
    pub fn matches(&self, path: &str) -> Option<Vec<(String, String)>> {
        let mut given = path.split('/');
        let mut values = Vec::new();
        for wanted in self.path.split('/') {
            let part = given.next()?;
            match wanted.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
                Some(name) if !part.is_empty() => {
                    values.push((name.to_owned(), crate::http::decode(part)?));
                }
                None if wanted == part => {}
                Some(_) | None => return None,
            }
        }
        given.next().is_none().then_some(values)
    }

    /// What is wrong with an answer of this status.
    pub fn judge_answer(&self, status: u16, body: Option<&Value>) -> Vec<String> {
        let error = json!({ "$ref": "#/components/schemas/basic-error" });
        // Any operation may answer with these, although the description does not list them
        // everywhere.
        let general = [301, 304, 307, 401, 403, 404, 410, 422, 429];
        let schema = match self.responses.get(&status) {
            Some(schema) => schema,
            None if general.contains(&status) || status >= 500 => &error,
            None => return vec![format!("`{}` does not answer {status}", self.id)],
        };
        match body {
            None if schema.is_null() || status == 304 => Vec::new(),
            None => vec![format!("`{}` answers {status} with a body", self.id)],
            Some(_) if schema.is_null() => {
                vec![format!("`{}` answers {status} without a body", self.id)]
            }
            Some(body) => judge(schema, body),
        }
    }

    /// What is wrong with the body of a request.
    pub fn judge_body(&self, body: Option<&Value>) -> Vec<String> {
        let Some(body) = body else {
            let missing = format!("`{}` needs a body", self.id);
            return if self.body_required {
                vec![missing]
            } else {
                Vec::new()
            };
        };
        if self.body.is_null() {
            return vec![format!("`{}` takes no body", self.id)];
        }
        let mut found = judge(&self.body, body);
        if let (Some(known), Some(given)) = (self.body["properties"].as_object(), body.as_object())
        {
            let unknown = given.keys().filter(|it| !known.contains_key(*it));
            found.extend(unknown.map(|it| format!("`{}` does not know the field `{it}`", self.id)));
        }
        found
    }
}

/// Where and how a value does not fit its schema.
pub fn judge(schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(schema);
    let errors = validator.iter_errors(value);
    errors
        .map(|it| {
            let message: String = it.to_string().chars().take(300).collect();
            format!("at `{}`: {message}", it.instance_path())
        })
        .collect()
}

fn validator(schema: &Value) -> Arc<Validator> {
    let key = schema.to_string();
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = validators.get(&key) {
        return Arc::clone(found);
    }
    let whole = json!({ "allOf": [schema], "components": DESCRIPTION["components"] });
    let made = jsonschema::validator_for(&whole);
    let made = made.unwrap_or_else(|error| stop(&format!("schema/rest.json: {error}")));
    let made = Arc::new(made);
    validators.insert(key, Arc::clone(&made));
    made
}
