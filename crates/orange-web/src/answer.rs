//! Answers, and the headers that each of them has.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::ERROR_SHAPE;
use crate::backend::Reply;

pub type Answer = Response<Body>;

/// Nothing may be loaded but what this server serves, no text becomes a script, and no page may
/// frame it. Only the library of the page makes HTML, from the templates of the page.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Adds the headers of every answer. Only a file of the page brings one of them itself: whether it
/// may be kept.
pub fn with_headers(mut answer: Answer) -> Answer {
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        answer.headers_mut().entry(name).or_insert(value);
    }
    answer
}

/// An answer in JSON.
pub fn json(status: StatusCode, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static("application/json");
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    answer
}

/// An answer that says only that everything was right.
pub fn empty() -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// Why a request was refused before a command ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    /// The stable code that programs match on.
    pub code: &'static str,
    pub message: String,
    pub hint: Option<&'static str>,
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

    pub fn hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    /// The answer, in the shape of every error.
    pub fn into_answer(self) -> Answer {
        let hints: Vec<&str> = self.hint.into_iter().collect();
        let body = json!({
            "schema": ERROR_SHAPE,
            "error": {
                "code": self.code,
                "message": self.message,
                "details": {},
                "hints": hints,
            },
        });
        let mut answer = json(self.status, body.to_string().into_bytes());
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer");
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        answer
    }
}

/// The answer of a command. An answer of the operation's own shape is a success: its `outcome` says
/// whether effects are still in progress, and whether they failed.
pub fn of_reply(reply: Reply) -> Answer {
    let status = match reply.exit {
        0 => StatusCode::OK,
        exit => match serde_json::from_slice::<Value>(&reply.answer) {
            Ok(answer) if answer["schema"] == ERROR_SHAPE => {
                status_of(exit, answer["error"]["code"].as_str().unwrap_or_default())
            }
            Ok(_) if exit == BUSY => StatusCode::ACCEPTED,
            Ok(_) => StatusCode::OK,
            Err(_) => {
                let message = "the command gave no answer";
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Refusal::new(status, "system-failed", message).into_answer();
            }
        },
    };
    json(status, reply.answer)
}

/// The exit code of a command that continues in the background.
const BUSY: u8 = 5;

/// The status of an error, by the exit code and the error's code.
fn status_of(exit: u8, code: &str) -> StatusCode {
    match (exit, code) {
        (_, "task-changed" | "head-changed") => StatusCode::PRECONDITION_FAILED,
        (2, _) => StatusCode::BAD_REQUEST,
        (3, _) => StatusCode::CONFLICT,
        (4, _) => StatusCode::NOT_FOUND,
        (BUSY, _) => StatusCode::SERVICE_UNAVAILABLE,
        (6, _) => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(exit: u8, answer: &str) -> u16 {
        let answer = answer.as_bytes().to_vec();
        of_reply(Reply { exit, answer }).status().as_u16()
    }

    #[test]
    fn an_error_has_the_status_of_its_kind() {
        let error =
            |code: &str| format!(r#"{{"schema":"orange.error/1","error":{{"code":"{code}"}}}}"#);
        for (exit, expected) in [(1, 500), (2, 400), (3, 409), (4, 404), (5, 503), (6, 502)] {
            assert_eq!(status(exit, &error("x")), expected, "{exit}");
        }
        assert_eq!(status(3, &error("task-changed")), 412);
        assert_eq!(status(3, &error("head-changed")), 412);
        let change = r#"{"schema":"orange.task.change/1","outcome":"in_flight"}"#;
        assert_eq!(status(0, change), 200);
        assert_eq!(status(5, change), 202);
        assert_eq!(status(6, change), 200);
        assert_eq!(status(1, "no json"), 500);
    }
}
