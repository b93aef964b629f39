//! One JSON request to a chat server, and its answer.

use std::time::Duration;

use orange_config::Environment;
use serde_json::Value;

use super::error::ChatError;
use super::secret::Secret;
use crate::forge::http::{Http, HttpRequest, Kept, Method};

/// How much of an answer is read. A batch of the longest messages is far smaller.
const MAX_ANSWER: usize = 48 * 1024 * 1024;

/// How much longer a request may take than the server was asked to wait.
const GRACE: Duration = Duration::from_secs(15);

/// The most characters of a server's explanation that are kept.
const MAX_REASON: usize = 200;

/// For how long a busy server is left alone if it does not say.
const PAUSE: u64 = 30;

/// Sends requests to one server.
pub(super) struct Exchange {
    http: Http,
    secret: Secret,
}

/// The answer to a request.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The body; `null` if it is not JSON.
    pub(super) body: Value,
    /// The seconds in the header `Retry-After`.
    pub(super) retry_after: Option<u64>,
}

impl Exchange {
    /// The server may take `wait` to answer, because it waits for messages.
    pub(super) fn new(environment: &Environment, secret: Secret, wait: Duration) -> Exchange {
        Exchange {
            http: Http::new(environment, wait + GRACE),
            secret,
        }
    }

    /// Sends one request. `authorised` adds the token as a header.
    pub(super) fn send(
        &self,
        method: Method,
        address: String,
        body: Option<&Value>,
        authorised: bool,
    ) -> Result<Answer, ChatError> {
        let mut headers = vec![("accept", String::from("application/json"))];
        if body.is_some() {
            headers.push(("content-type", String::from("application/json")));
        }
        if authorised {
            let value = format!("Bearer {}", self.secret.expose());
            headers.push(("authorization", value));
        }
        let request = HttpRequest {
            method,
            address,
            headers,
            body: body.map(|it| it.to_string().into_bytes()),
            kept: Kept::AtMost(MAX_ANSWER),
        };
        let answer = self.http.send(request);
        let answer = answer.map_err(|it| self.hidden(ChatError::from_trouble(&it)))?;
        let retry_after = answer.header("retry-after").and_then(|it| it.parse().ok());
        Ok(Answer {
            status: answer.status,
            body: serde_json::from_slice(&answer.body).unwrap_or(Value::Null),
            retry_after,
        })
    }

    /// Why the server did not do what it was asked, by its status and explanation. `pause` is how
    /// many seconds it wants to be left alone, if the body says so.
    pub(super) fn refusal(&self, answer: &Answer, reason: &str, pause: Option<u64>) -> ChatError {
        match answer.status {
            401 => ChatError::TokenRejected,
            429 => ChatError::Busy {
                seconds: pause.or(answer.retry_after).unwrap_or(PAUSE),
            },
            status if status >= 500 => ChatError::ServerFailed(status),
            status => {
                let is_plain = |c: &char| !c.is_control();
                let reason: String = reason.chars().filter(is_plain).take(MAX_REASON).collect();
                self.hidden(ChatError::Refused(format!("{status} {reason}")))
            }
        }
    }

    /// The error without the token, which an address may hold.
    pub(super) fn hidden(&self, error: ChatError) -> ChatError {
        match error {
            ChatError::Unreachable(text) => ChatError::Unreachable(self.secret.hide(&text)),
            ChatError::Refused(text) => ChatError::Refused(self.secret.hide(&text)),
            ChatError::Malformed(text) => ChatError::Malformed(self.secret.hide(&text)),
            other => other,
        }
    }
}
