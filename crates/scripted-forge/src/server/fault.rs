//! Faults: what can go wrong between a request and its answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Answer, Body};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before anything is done.
    CutBefore,
    /// The request is carried out, but the connection ends before the answer.
    CutAfter,
    /// GraphQL data with a missing part, and an error that names it.
    PartialData,
    /// 502 before anything is done.
    BadGateway,
    /// 504, although the request is carried out.
    GatewayTimeout,
    /// The answer comes late.
    Slow(Duration),
    /// The request is carried out, but the answer is not JSON.
    Garbage,
    /// The request is carried out, but the answer is an HTML page.
    WrongType,
    /// The request is carried out, but the answer has only half of the JSON.
    Truncated,
    /// 401: the token was revoked.
    Unauthorized,
    /// 403 with the headers of a used up quota.
    QuotaUsedUp,
    /// 429 with `Retry-After`.
    TooMany,
    /// 500 before anything is done.
    ServerError,
}

impl Fault {
    /// One of each kind.
    pub const ALL: [Self; 13] = [
        Self::CutBefore,
        Self::CutAfter,
        Self::PartialData,
        Self::BadGateway,
        Self::GatewayTimeout,
        Self::Slow(Duration::from_millis(300)),
        Self::Garbage,
        Self::WrongType,
        Self::Truncated,
        Self::Unauthorized,
        Self::QuotaUsedUp,
        Self::TooMany,
        Self::ServerError,
    ];

    /// Whether the request is carried out all the same.
    pub fn takes_effect(self) -> bool {
        match self {
            Self::CutAfter
            | Self::PartialData
            | Self::GatewayTimeout
            | Self::Slow(_)
            | Self::Garbage
            | Self::WrongType
            | Self::Truncated => true,
            Self::CutBefore
            | Self::BadGateway
            | Self::Unauthorized
            | Self::QuotaUsedUp
            | Self::TooMany
            | Self::ServerError => false,
        }
    }

    /// The answer to send instead of the real one; `None` cuts the connection.
    pub fn spoil(self, answer: Option<Answer>, now: i64) -> Option<Answer> {
        let page = "<html><body><h1>Unicorn!</h1></body></html>";
        Some(match self {
            Self::CutBefore | Self::CutAfter => return None,
            Self::BadGateway => Answer::text(502, page).with("Content-Type", "text/html"),
            Self::GatewayTimeout => {
                let message = "We couldn't respond to your request in time. Sorry about that.";
                Answer::json(504, json!({ "message": message }))
            }
            Self::Garbage => {
                Answer::text(200, "\u{1}\u{2}not json").with("Content-Type", "application/json")
            }
            Self::WrongType => Answer::text(200, page).with("Content-Type", "text/html"),
            Self::Unauthorized => Answer::error(401, "Bad credentials"),
            Self::QuotaUsedUp => Answer::error(403, "API rate limit exceeded for user.")
                .with("X-RateLimit-Limit", 5000)
                .with("X-RateLimit-Remaining", 0)
                .with("X-RateLimit-Used", 5000)
                .with("X-RateLimit-Reset", now + 1800),
            Self::TooMany => {
                let message = "You have exceeded a secondary rate limit.";
                Answer::error(429, message).with("Retry-After", 60)
            }
            Self::ServerError => Answer::error(500, "Server Error"),
            Self::Slow(_) => answer?,
            Self::PartialData => punch(answer?),
            Self::Truncated => truncate(&answer?),
        })
    }
}

/// Replaces a part of the data with null, and adds an error that names it.
fn punch(mut answer: Answer) -> Answer {
    let Body::Json(body) = &mut answer.body else {
        return answer;
    };
    // Only an answer of GraphQL has data; one of REST may be a list.
    let Some(data) = body.get_mut("data").and_then(Value::as_object_mut) else {
        return answer;
    };
    let mut path = Vec::new();
    if let Some(nodes) = data.get_mut("nodes").and_then(Value::as_array_mut)
        && let Some(last) = nodes.last_mut()
    {
        *last = Value::Null;
        path = vec![json!("nodes"), json!(nodes.len() - 1)];
    } else if let Some((name, value)) = data.iter_mut().next() {
        *value = Value::Null;
        path = vec![json!(name)];
    }
    let message = "Something went wrong while executing your query.";
    body["errors"] = json!([{ "message": message, "path": path }]);
    answer
}

/// The same answer with only half of the JSON, and with the length of that half.
fn truncate(answer: &Answer) -> Answer {
    let (_, text) = answer.content();
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    let mut cut = Answer::text(answer.status, &half);
    cut.headers.clone_from(&answer.headers);
    cut.with("Content-Type", "application/json")
        .with("Content-Length", half.len())
}
