//! Calls the server of a fleet.

use std::time::Duration;

use orange_config::Environment;

use crate::forge::error::Trouble;
use crate::forge::http::{Http, HttpRequest, Kept, Method};

/// The longest answer: a task may have 64 MiB, and JSON needs more.
const MOST_BYTES: usize = 96 * 1024 * 1024;

/// How much of a refusal is shown.
const SHOWN: usize = 300;

/// Keeps the connections to one server, with the token of this runner.
pub struct FleetClient {
    http: Http,
    address: String,
    token: String,
}

/// What a call does with the resource that its path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetMethod {
    Post,
    Put,
}

/// Why a call has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum FleetCallError {
    /// The server may or may not have acted on it; repeating the call is safe.
    #[error("{0}")]
    NoAnswer(Trouble),
    #[error("the server refused the token; run `orange runner join` with a new one")]
    Unauthorised,
    #[error("the server answered {status}: {reason}")]
    Refused { status: u16, reason: String },
}

impl FleetClient {
    /// Each call has to be answered within the timeout.
    pub fn new(
        environment: &Environment,
        address: &str,
        token: &str,
        timeout: Duration,
    ) -> FleetClient {
        FleetClient {
            http: Http::new(environment, timeout),
            address: address.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
        }
    }

    /// Sends JSON to a path below the protocol's version; returns the JSON of the answer.
    pub fn call(
        &self,
        method: FleetMethod,
        path: &str,
        json: Vec<u8>,
    ) -> Result<Vec<u8>, FleetCallError> {
        let answer = self.http.send(HttpRequest {
            method: match method {
                FleetMethod::Post => Method::POST,
                FleetMethod::Put => Method::PUT,
            },
            address: format!("{}/v1/{path}", self.address),
            headers: vec![
                ("authorization", format!("Bearer {}", self.token)),
                ("content-type", String::from("application/json")),
            ],
            body: Some(json),
            kept: Kept::AtMost(MOST_BYTES),
        });
        let answer = answer.map_err(FleetCallError::NoAnswer)?;
        match answer.status {
            200 => Ok(answer.body),
            401 => Err(FleetCallError::Unauthorised),
            status => {
                let text = String::from_utf8_lossy(&answer.body);
                // What a server sends must not reach a terminal as it is.
                let shown = text.chars().filter(|it| !it.is_control()).take(SHOWN);
                Err(FleetCallError::Refused {
                    status,
                    reason: shown.collect(),
                })
            }
        }
    }
}

impl std::fmt::Debug for FleetClient {
    /// The token is a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("FleetClient");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
