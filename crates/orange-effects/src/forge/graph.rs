//! Queries and mutations: one address, and errors inside answers with status 200.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Method;

use super::classify::{GraphError, classify, classify_graph};
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
    #[serde(default)]
    errors: Vec<GraphError>,
}

/// What a query found; parts of it may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphAnswer<T> {
    pub data: T,
    /// Why parts are missing; one bad part does not make the others unusable.
    pub missing: Vec<MissingPart>,
}

/// A part that the forge left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPart {
    /// Where it would be: names and positions.
    pub path: Vec<String>,
    pub message: String,
}

impl Client {
    /// Asks a query.
    pub fn query<T: DeserializeOwned>(
        &mut self,
        query: &str,
        variables: impl Serialize,
    ) -> Result<GraphAnswer<T>, ForgeError> {
        self.send_graph(query, variables, false)
    }

    /// Makes a change, once; an answer with any error is a failure.
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
        let now = self.now();
        let sorted = classify(&response, self.host(), now);
        sorted.map_err(|trouble| call.error(trouble))?;
        let answer: Answer = parse(&call, &response)?;
        let data = answer.data.filter(|it| !it.is_null());
        let failed = !answer.errors.is_empty();
        let trouble = || classify_graph(&answer.errors, &response, self.host(), now);
        let Some(data) = data else {
            let trouble = if failed {
                trouble()
            } else {
                Trouble::Malformed {
                    reason: String::from("neither data nor errors"),
                }
            };
            return Err(call.error(trouble));
        };
        let is_usable = || !is_about_everything(&trouble());
        if failed && (is_write || !is_usable()) {
            return Err(call.error(trouble()));
        }
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

/// Whether a trouble is about the whole request, so that even the data beside it proves nothing.
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
