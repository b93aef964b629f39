//! GraphQL requests, whose errors arrive in answers with status 200.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Method;

use super::classify::{GraphError, classify_graph, graph_errors};
use super::client::{Call, Client, encode_body, parse};
use super::error::{ForgeError, Trouble};

#[derive(Serialize)]
struct Request<'a, V> {
    query: &'a str,
    variables: V,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Option<Value>,
    #[serde(default, deserialize_with = "graph_errors")]
    errors: Vec<GraphError>,
}

/// What a query found; parts of it may be missing. A field that is `null` because of an error is
/// removed from the data, so that every `null` that remains is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphAnswer<T> {
    pub data: T,
    /// Why parts are missing; one bad part does not make the others unusable.
    pub missing: Vec<MissingPart>,
}

/// A part that the forge left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// Where the part would be: field names and list positions.
    pub path: Vec<String>,
    pub message: String,
}

impl Client {
    /// Sends a query.
    pub fn query<T: DeserializeOwned>(
        &mut self,
        query: &str,
        variables: impl Serialize,
    ) -> Result<GraphAnswer<T>, ForgeError> {
        self.send_graph(query, variables, false)
    }

    /// Sends a mutation once; an answer with any error is a failure.
    pub fn mutate<T: DeserializeOwned>(
        &mut self,
        query: &str,
        variables: impl Serialize,
    ) -> Result<T, ForgeError> {
        Ok(self.send_graph(query, variables, true)?.data)
    }

    fn send_graph<T: DeserializeOwned>(
        &mut self,
        query: &str,
        variables: impl Serialize,
        is_write: bool,
    ) -> Result<GraphAnswer<T>, ForgeError> {
        let mut call = Call {
            method: Method::POST,
            address: self.base().graph.clone(),
            body: None,
            etag: None,
            is_write,
        };
        call.body = Some(encode_body(&call, &Request { query, variables })?);
        let response = self.send_once(&call)?;
        let response = self.require_success(&call, response)?;
        let now = self.now();
        let answer: Answer = parse(&call, &response)?;
        let mut data = answer.data.unwrap_or_default();
        let failed = !answer.errors.is_empty();
        let trouble = || classify_graph(&answer.errors, &response, self.host(), now);
        if failed && is_write && may_be_done(&data, &answer.errors) {
            return Err(call.error(Trouble::Malformed {
                reason: format!(
                    "it has an error, but the change may have been made: {}",
                    trouble()
                ),
            }));
        }
        if failed && (is_write || data.is_null() || is_about_everything(&trouble())) {
            return Err(call.error(trouble()));
        }
        if data.is_null() {
            return Err(call.error(Trouble::Malformed {
                reason: String::from("neither data nor errors"),
            }));
        }
        remove_errors(&mut data, &answer.errors);
        let data = serde_json::from_value(data).map_err(|error| {
            call.error(Trouble::Malformed {
                reason: error.to_string(),
            })
        })?;
        let missing = answer.errors.into_iter().map(|error| MissingPart {
            path: error.path.unwrap_or_default().iter().map(step).collect(),
            message: error.message.chars().take(300).collect(),
        });
        Ok(GraphAnswer {
            data,
            missing: missing.collect(),
        })
    }
}

/// Whether a change may have been made although there are errors: a part of its result is there, or
/// an error is about a part of its result.
fn may_be_done(data: &Value, errors: &[GraphError]) -> bool {
    let mut results = data.as_object().into_iter().flat_map(|it| it.values());
    let is_below = |it: &GraphError| it.path.as_ref().is_some_and(|path| path.len() > 1);
    results.any(|it| !it.is_null()) || errors.iter().any(is_below)
}

/// Removes the parts that the errors point to. If an error points to nothing that exists, any
/// `null` may come from it, so all of them are removed.
fn remove_errors(data: &mut Value, errors: &[GraphError]) {
    let mut gone: Vec<&[Value]> = Vec::new();
    for error in errors {
        let path = error.path.as_deref().unwrap_or_default();
        if gone.iter().any(|it| path.starts_with(it)) {
            continue;
        }
        match remove_null_or_end(data, path) {
            Some(length) => gone.push(&path[..length]),
            None => remove_null_fields(data),
        }
    }
}

/// Removes the first `null` on a path, or else the value at the path's end; returns how many steps
/// lead to it.
fn remove_null_or_end(data: &mut Value, path: &[Value]) -> Option<usize> {
    let mut place = data;
    for (index, step) in path.iter().enumerate() {
        let is_last = index + 1 == path.len();
        if is_last || at(place, step)?.is_null() {
            return remove(place, step).then_some(index + 1);
        }
        place = at(place, step)?;
    }
    None
}

fn at<'a>(place: &'a mut Value, step: &Value) -> Option<&'a mut Value> {
    match (place, step) {
        (Value::Object(fields), Value::String(name)) => fields.get_mut(name),
        (Value::Array(entries), step) => entries.get_mut(usize::try_from(step.as_u64()?).ok()?),
        _ => None,
    }
}

/// Removes a field. An entry of a list becomes `null`, so that the others keep their positions;
/// readers skip it. Returns false if there is no such field or entry.
fn remove(place: &mut Value, step: &Value) -> bool {
    if let (Value::Object(fields), Value::String(name)) = (&mut *place, step) {
        return fields.remove(name).is_some();
    }
    match at(place, step) {
        Some(entry) => {
            *entry = Value::Null;
            true
        }
        None => false,
    }
}

fn remove_null_fields(data: &mut Value) {
    match data {
        Value::Object(fields) => {
            fields.retain(|_, it| !it.is_null());
            fields.values_mut().for_each(remove_null_fields);
        }
        Value::Array(entries) => entries.iter_mut().for_each(remove_null_fields),
        _ => {}
    }
}

/// Whether an error affects the whole request, so that even the data beside it proves nothing.
fn is_about_everything(trouble: &Trouble) -> bool {
    matches!(
        trouble,
        Trouble::QuotaUsedUp { .. } | Trouble::ServerTrouble { .. } | Trouble::Unauthorised { .. }
    )
}

fn step(step: &Value) -> String {
    match step {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}
