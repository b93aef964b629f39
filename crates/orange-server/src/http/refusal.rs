//! Refusals, in the shape of every error of orange.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use serde_json::json;

pub type Answer = Response<Body>;

/// The shape of an error.
const ERROR_SHAPE: &str = "orange.error/1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    /// The stable code that programs match on.
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// No token, one that is not ours, and one that works no more: the same answer.
    pub fn unauthorized() -> Self {
        let message = "this needs a token that is known and was not revoked";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .hint("send `Authorization: Bearer TOKEN`; an admin of your organisation can make a new code for you")
    }

    pub fn code_invalid() -> Self {
        let message = "the code is unknown, used or expired";
        Self::new(StatusCode::UNAUTHORIZED, "code-invalid", message)
            .hint("ask an admin of your organisation for a new code")
    }

    pub fn wrong_caller(needed: &str) -> Self {
        let message = format!("this call is for {needed}");
        Self::new(StatusCode::FORBIDDEN, "caller-refused", message)
    }

    pub fn role_missing(needed: &str) -> Self {
        let message = format!("this needs the role `{needed}` in the project");
        Self::new(StatusCode::FORBIDDEN, "role-missing", message)
            .hint("ask an admin of your organisation for a code with that role")
    }

    /// What does not exist and what the caller may not see: the same answer.
    pub fn not_found(what: &'static str) -> Self {
        let message = format!("there is no such {what}, or you have no role in its project");
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "body-invalid", message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
    }

    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", message)
    }

    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    pub fn into_answer(self) -> Answer {
        let hints: Vec<String> = self.hint.into_iter().collect();
        let body = json!({
            "schema": ERROR_SHAPE,
            "error": {
                "code": self.code,
                "message": self.message,
                "details": {},
                "hints": hints,
            },
        });
        let mut answer = with_body(self.status, body.to_string().into_bytes());
        let headers = answer.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS
            || self.status == StatusCode::SERVICE_UNAVAILABLE
        {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}

/// An answer in JSON.
pub fn json_answer<T: Serialize>(body: &T) -> Result<Answer, Refusal> {
    let body = serde_json::to_vec(body).map_err(|error| {
        let message = format!("cannot write the answer: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "system-failed", message)
    })?;
    Ok(with_body(StatusCode::OK, body))
}

fn with_body(status: StatusCode, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}
