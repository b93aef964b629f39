//! GraphQL: validates queries by GitHub's schema and executes them.

mod actor;
mod check;
mod cost;
mod issue;
mod mutation;
mod object;
mod pull;
mod query;
mod review;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use apollo_compiler::executable::Operation;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::resolvers::{Execution, FieldError};
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};

use crate::document;
use crate::stop::stop;
use crate::world::World;
use crate::world::quota::Rate;
use cost::Cost;
use mutation::MutationRoot;
use object::View;
use query::QueryRoot;

static SCHEMA: LazyLock<Valid<Schema>> = LazyLock::new(|| {
    let text = include_str!("../../schema/github.graphql");
    let schema = Schema::parse_and_validate(text, "github.graphql");
    schema.unwrap_or_else(|error| stop(&format!("schema/github.graphql: {}", error.errors)))
});

/// The types of errors that GitHub returns on purpose; any other error is a defect of this crate.
const REFUSALS: [&str; 4] = [
    "NOT_FOUND",
    "FORBIDDEN",
    "UNPROCESSABLE",
    "INSUFFICIENT_SCOPES",
];

/// A query that the schema allows.
pub struct Query {
    document: Valid<ExecutableDocument>,
    operation: Option<String>,
    variables: Valid<JsonMap>,
    /// The names of the root fields, such as `nodes` or `enqueuePullRequest`.
    pub fields: Vec<String>,
    /// The operation's own name.
    pub name: Option<String>,
    pub is_mutation: bool,
    pub points: u64,
    pub nodes: u64,
    /// Why GitHub refuses the query although the schema allows it: the type and message of the
    /// error.
    pub refusal: Option<(&'static str, String)>,
}

/// The result of a query.
pub struct Response {
    pub body: Value,
    /// Where this crate's answer does not fit the schema.
    pub violations: Vec<String>,
    /// The names and inputs of the mutations that took effect.
    pub writes: Vec<(String, Value)>,
}

impl Query {
    /// Reads and validates a request, or says what is wrong with it.
    pub fn read(body: &Value, lax: bool) -> Result<Self, Vec<String>> {
        let text = body["query"]
            .as_str()
            .ok_or_else(|| vec!["no `query`".to_owned()])?;
        let document = document::parse(&SCHEMA, text, lax)?;
        let operation = body["operationName"].as_str().map(str::to_owned);
        let found = document.operations.get(operation.as_deref());
        let found = found
            .map_err(|error| vec![error.message().to_string()])?
            .clone();
        let raw = match JsonValue::from(body["variables"].clone()) {
            JsonValue::Object(variables) => variables,
            _ => JsonMap::new(),
        };
        let mut unknown = raw.keys().filter(|it| {
            !found
                .variables
                .iter()
                .any(|known| known.name.as_str() == it.as_str())
        });
        if let Some(unknown) = unknown.next() {
            return Err(vec![format!(
                "the variable `{}` is not declared",
                unknown.as_str()
            )]);
        }
        let variables = coerce_variable_values(&SCHEMA, &found, &raw);
        let variables = variables.map_err(|error| vec![error.message().to_string()])?;
        let cost = Cost::of(&document, &found.selection_set, &variables);
        let fields = found
            .root_fields(&document)
            .map(|it| it.name.to_string())
            .collect();
        Ok(Self {
            operation,
            fields,
            name: found.name.as_ref().map(ToString::to_string),
            is_mutation: found.is_mutation(),
            points: cost.points(),
            nodes: cost.nodes,
            refusal: cost.refusal,
            variables,
            document,
        })
    }

    fn operation(&self) -> Option<&Operation> {
        self.document
            .operations
            .get(self.operation.as_deref())
            .ok()
            .map(AsRef::as_ref)
    }

    /// Performs the mutations, then lets the GraphQL executor build the response.
    pub fn execute(&self, world: &mut World, viewer: &str, rate: Rate) -> Response {
        let mut changes = HashMap::new();
        let mut writes = Vec::new();
        for field in self
            .operation()
            .into_iter()
            .filter(|it| it.is_mutation())
            .flat_map(|it| it.root_fields(&self.document))
        {
            let input = mutation::input(field, &self.variables);
            let change = mutation::perform(world, viewer, &field.name, &input);
            if change.is_ok() {
                writes.push((field.name.to_string(), input.clone()));
            }
            let client = input["clientMutationId"].clone();
            changes.insert(field.response_key().to_string(), (change, client));
        }
        let view = View {
            world,
            viewer,
            rate,
            points: self.points,
            nodes: self.nodes,
        };
        let execution = Execution::new(&SCHEMA, &self.document)
            .operation_name(self.operation.as_deref())
            .map(|it| {
                it.coerced_variable_values(&self.variables)
                    .enable_schema_introspection(true)
            });
        let mut errors = Vec::new();
        let result = execution.and_then(|it| {
            if self.is_mutation {
                return it.execute_sync(&MutationRoot {
                    view,
                    changes: &changes,
                });
            }
            let root = QueryRoot {
                view,
                errors: RefCell::default(),
            };
            let response = it.execute_sync(&root);
            errors = root.errors.take();
            response
        });
        let (body, violations) = match result {
            Ok(response) => shape(&serde_json::to_value(response).unwrap_or_default(), &errors),
            Err(error) => (Value::Null, vec![error.message().to_string()]),
        };
        Response {
            body,
            violations,
            writes,
        }
    }
}

/// A response with one error and no data.
pub fn refusal(kind: Option<&str>, message: &str) -> Value {
    let mut error = json!({ "message": message });
    if let Some(kind) = kind {
        error["type"] = json!(kind);
    }
    json!({ "data": null, "errors": [error] })
}

/// Moves each error's type to the key where GitHub has it, and collects the errors that GitHub
/// would not return.
fn shape(response: &Value, of_nodes: &[Value]) -> (Value, Vec<String>) {
    let mut violations = Vec::new();
    let mut body = json!({ "data": response["data"] });
    let mut errors = Vec::new();
    let found = response["errors"].as_array().into_iter().flatten();
    for error in found.chain(of_nodes) {
        let message = error["message"].as_str().unwrap_or_default();
        // The executor puts these words before the message of a resolver.
        let message = message.trim_start_matches("resolver error: ");
        let mut error = error.clone();
        match message.split_once(": ") {
            Some((kind, rest)) if REFUSALS.contains(&kind) => {
                error["type"] = json!(kind);
                error["message"] = json!(rest);
            }
            _ => violations.push(format!("{message} at {}", error["path"])),
        }
        errors.push(error);
    }
    if !errors.is_empty() {
        body["errors"] = Value::Array(errors);
    }
    (body, violations)
}
