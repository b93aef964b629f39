//! Sorts every answer into success or a kind of trouble.

use orange_engine::time::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::{FieldError, QuotaKind, Trouble};
use super::host::{Host, public_part};
use super::http::HttpResponse;

/// How long to wait after a rate limit whose answer does not say until when; the forge's
/// documentation asks for this pause.
const DEFAULT_PAUSE_MILLIS: i64 = 60_000;

/// How many characters of a message from outside are kept.
const MAX_MESSAGE: usize = 300;

/// The body of an error. Each field may hold any JSON: a proxy may answer instead of the forge, and
/// even the forge uses several forms.
#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    message: Value,
    #[serde(default)]
    errors: Value,
}

/// `Ok` for a status of success. Status 304 (unchanged) is trouble here: a caller that sent an
/// `ETag` handles it before.
pub fn classify(response: &HttpResponse, host: &Host, now: Timestamp) -> Result<(), Trouble> {
    let status = response.status;
    if matches!(status, 200..=299) {
        return Ok(());
    }
    let body: ErrorBody = serde_json::from_slice(&response.body).unwrap_or_default();
    let message = shorten(body.message.as_str().unwrap_or("no reason given"));
    let errors = field_errors(&body.errors);
    if let Some(quota) = quota_trouble(response, &message, now) {
        return Err(quota);
    }
    Err(match status {
        301 | 302 | 303 | 307 | 308 => Trouble::Moved {
            to: match response.header("location") {
                Some(to) => shorten(&public_part(to)),
                None => String::from("an unnamed place"),
            },
        },
        401 => Trouble::Unauthorised {
            host: host.clone(),
            message,
        },
        403 => Trouble::Forbidden { message },
        404 => Trouble::AbsentOrNotAllowed { message },
        405 => Trouble::NotMergeable { message },
        409 => Trouble::Conflict { message, errors },
        410 => Trouble::Gone { message },
        408 | 500..=599 => Trouble::ServerTrouble { status, message },
        400..=499 => Trouble::Unprocessable { message, errors },
        _ => Trouble::Malformed {
            reason: format!("status {status}"),
        },
    })
}

/// The trouble for status 403 or 429 that is due to a rate limit; `None` for any other answer.
fn quota_trouble(response: &HttpResponse, message: &str, now: Timestamp) -> Option<Trouble> {
    if !matches!(response.status, 403 | 429) {
        return None;
    }
    let pause = retry_after(response);
    let is_empty = response.header("x-ratelimit-remaining") == Some("0");
    let message = message.to_lowercase();
    let is_secondary = message.contains("secondary rate limit") || message.contains("abuse");
    if is_secondary || (pause.is_some() && !is_empty) {
        let pause = pause.unwrap_or(DEFAULT_PAUSE_MILLIS);
        return Some(Trouble::QuotaUsedUp {
            kind: QuotaKind::Secondary,
            until: later(now, pause),
        });
    }
    let is_primary = is_empty || response.status == 429 || message.contains("rate limit exceeded");
    is_primary.then(|| primary(response, now))
}

/// The hourly quota is used up until the time that the headers name.
fn primary(response: &HttpResponse, now: Timestamp) -> Trouble {
    let pause = retry_after(response).unwrap_or(DEFAULT_PAUSE_MILLIS);
    let until = reset_time(response).filter(|it| *it > now);
    Trouble::QuotaUsedUp {
        kind: QuotaKind::Primary,
        until: until.unwrap_or_else(|| later(now, pause)),
    }
}

fn retry_after(response: &HttpResponse) -> Option<i64> {
    let seconds: i64 = response.header("retry-after")?.trim().parse().ok()?;
    // No limit lasts longer than a day; a larger value is a mistake and would stop all requests.
    Some(seconds.clamp(1, 86_400) * 1000)
}

/// When the quota that this answer counted against is full again.
pub fn reset_time(response: &HttpResponse) -> Option<Timestamp> {
    let seconds: i64 = response.header("x-ratelimit-reset")?.trim().parse().ok()?;
    Some(Timestamp::from_millis(seconds.saturating_mul(1000)))
}

fn later(now: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(now.millis().saturating_add(millis))
}

/// The reasons in `errors`, which is a list or a single reason.
fn field_errors(errors: &Value) -> Vec<FieldError> {
    let errors = errors
        .as_array()
        .map_or(std::slice::from_ref(errors), Vec::as_slice);
    let found = errors.iter().map(field_error);
    found.filter(|it| *it != FieldError::default()).collect()
}

fn field_error(value: &Value) -> FieldError {
    if let Some(message) = value.as_str() {
        return FieldError {
            message: shorten(message),
            ..FieldError::default()
        };
    }
    let part = |name: &str| {
        let part = value.get(name).and_then(Value::as_str);
        part.map(shorten).unwrap_or_default()
    };
    FieldError {
        resource: part("resource"),
        field: part("field"),
        code: part("code"),
        message: part("message"),
    }
}

/// One of the errors in a GraphQL answer; the answer's status is 200.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct GraphError {
    #[serde(default)]
    pub message: String,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Where in the answer the value is missing: field names and list positions.
    #[serde(default)]
    pub path: Option<Vec<Value>>,
}

/// Reads the `errors` of a GraphQL answer: a list, `null` for none, or sometimes a single string.
pub fn graph_errors<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<GraphError>, D::Error> {
    let errors = Value::deserialize(deserializer)?;
    Ok(match errors {
        Value::Null => Vec::new(),
        Value::String(message) => vec![GraphError {
            message,
            kind: None,
            path: None,
        }],
        other => serde_json::from_value(other).map_err(D::Error::custom)?,
    })
}

/// The trouble that the errors in a GraphQL answer stand for.
pub fn classify_graph(
    errors: &[GraphError],
    response: &HttpResponse,
    host: &Host,
    now: Timestamp,
) -> Trouble {
    let is = |kind: &str| errors.iter().any(|it| it.kind.as_deref() == Some(kind));
    let says = |text: &str| {
        let mut messages = errors.iter().map(|it| it.message.to_lowercase());
        messages.any(|it| it.contains(text))
    };
    let message = errors.first().map_or("no reason given", |it| &it.message);
    let message = shorten(message);
    if says("secondary rate limit") {
        return Trouble::QuotaUsedUp {
            kind: QuotaKind::Secondary,
            until: later(now, retry_after(response).unwrap_or(DEFAULT_PAUSE_MILLIS)),
        };
    }
    if is("RATE_LIMITED") || is("RATE_LIMIT") || says("rate limit exceeded") {
        return primary(response, now);
    }
    let is_too_much = is("RESOURCE_LIMITS_EXCEEDED") || is("MAX_NODE_LIMIT_EXCEEDED");
    if is_too_much || says("something went wrong while executing") || says("timeout") {
        return Trouble::ServerTrouble {
            status: response.status,
            message,
        };
    }
    if is("NOT_FOUND") {
        return Trouble::AbsentOrNotAllowed { message };
    }
    if is("FORBIDDEN") || is("INSUFFICIENT_SCOPES") {
        return Trouble::Forbidden { message };
    }
    if is("UNAUTHENTICATED") {
        return Trouble::Unauthorised {
            host: host.clone(),
            message,
        };
    }
    Trouble::Unprocessable {
        message,
        errors: Vec::new(),
    }
}

/// A message from outside, on one line and shortened.
fn shorten(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_MESSAGE).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(status: u16, headers: &[(&str, &str)], body: &str) -> Trouble {
        let response = HttpResponse::new(status, headers, body);
        let now = Timestamp::from_millis(1_000_000);
        classify(&response, &Host::new("github.com"), now).unwrap_err()
    }

    fn until(trouble: &Trouble) -> Option<(QuotaKind, i64)> {
        match trouble {
            Trouble::QuotaUsedUp { kind, until } => Some((*kind, until.millis())),
            _ => None,
        }
    }

    #[test]
    fn lesson_58_each_status_is_its_own_trouble() {
        let of = |status| trouble(status, &[], "{\"message\":\"m\"}");
        assert!(matches!(of(301), Trouble::Moved { .. }));
        assert!(matches!(of(401), Trouble::Unauthorised { .. }));
        assert!(matches!(of(403), Trouble::Forbidden { .. }));
        assert!(matches!(of(404), Trouble::AbsentOrNotAllowed { .. }));
        assert!(matches!(of(405), Trouble::NotMergeable { .. }));
        assert!(matches!(of(409), Trouble::Conflict { .. }));
        assert!(matches!(of(410), Trouble::Gone { .. }));
        assert!(matches!(of(422), Trouble::Unprocessable { .. }));
        assert!(matches!(
            of(500),
            Trouble::ServerTrouble { status: 500, .. }
        ));
        assert!(matches!(of(100), Trouble::Malformed { .. }));
        // If the request had an `ETag`, the client handles this status before.
        assert!(matches!(of(304), Trouble::Malformed { .. }));
        // The connection was too slow for the server; this status says nothing about the request.
        assert!(matches!(
            of(408),
            Trouble::ServerTrouble { status: 408, .. }
        ));
        // A body that is not JSON, such as a proxy's, changes nothing.
        let page = trouble(502, &[], "<html>");
        assert!(matches!(page, Trouble::ServerTrouble { status: 502, .. }));
    }

    #[test]
    fn every_limit_says_until_when() {
        let empty = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "2000"),
        ];
        for status in [403, 429] {
            let primary = trouble(status, &empty, "{\"message\":\"API rate limit exceeded\"}");
            assert_eq!(until(&primary), Some((QuotaKind::Primary, 2_000_000)));
        }
        let secondary = "{\"message\":\"You have exceeded a secondary rate limit.\"}";
        let named = trouble(403, &[("retry-after", "30")], secondary);
        assert_eq!(until(&named), Some((QuotaKind::Secondary, 1_030_000)));
        let unnamed = trouble(429, &[("x-ratelimit-remaining", "17")], secondary);
        assert_eq!(until(&unnamed), Some((QuotaKind::Secondary, 1_060_000)));
        let past = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")];
        assert_eq!(
            until(&trouble(429, &past, "")),
            Some((QuotaKind::Primary, 1_060_000))
        );
        let hostile = trouble(429, &[("retry-after", "99999999999")], "");
        assert_eq!(until(&hostile), Some((QuotaKind::Secondary, 87_400_000)));
    }

    #[test]
    fn lesson_48_a_quota_error_with_status_200_is_seen() {
        let headers = [
            ("x-ratelimit-reset", "2000"),
            ("x-ratelimit-remaining", "0"),
        ];
        let response = HttpResponse::new(200, &headers, "");
        let error = |kind: &str, message: &str| GraphError {
            message: message.to_owned(),
            kind: Some(kind.to_owned()),
            path: None,
        };
        let of = |error: GraphError| {
            let now = Timestamp::from_millis(1_000_000);
            classify_graph(&[error], &response, &Host::new("github.com"), now)
        };
        let primary = of(error("RATE_LIMITED", "API rate limit exceeded"));
        assert_eq!(until(&primary), Some((QuotaKind::Primary, 2_000_000)));
        let secondary = of(error("X", "You have exceeded a secondary rate limit"));
        assert_eq!(until(&secondary), Some((QuotaKind::Secondary, 1_060_000)));
        let large = of(error("RESOURCE_LIMITS_EXCEEDED", "too much"));
        assert!(matches!(large, Trouble::ServerTrouble { .. }));
        assert!(matches!(
            of(error("NOT_FOUND", "")),
            Trouble::AbsentOrNotAllowed { .. }
        ));
        assert!(matches!(
            of(error("FORBIDDEN", "")),
            Trouble::Forbidden { .. }
        ));
    }

    #[test]
    fn errors_of_any_form_are_named() {
        for (errors, expected) in [
            ("null", ""),
            ("[]", ""),
            ("\"too long\"", "; too long"),
            ("{\"code\":\"invalid\"}", "; invalid"),
            ("7", ""),
            ("[null,\"a\",{\"message\":7}]", "; a"),
        ] {
            let body = format!("{{\"message\":\"m\",\"errors\":{errors}}}");
            let rejected = trouble(422, &[], &body);
            assert_eq!(
                rejected.to_string(),
                format!("it was rejected (m{expected})")
            );
        }
        // The limit is seen even if the rest of the body has another form.
        let limited = "{\"message\":\"You have exceeded a secondary rate limit\",\"errors\":\"x\"}";
        assert!(until(&trouble(403, &[], limited)).is_some());
        let odd = trouble(422, &[], "{\"message\":[\"m\"],\"errors\":[\"a\"]}");
        assert!(odd.to_string().ends_with("; a)"), "{odd}");
    }

    #[test]
    fn what_the_forge_rejects_is_named() {
        let body = r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for ada:x."},"plain"]}"#;
        let error = super::super::error::ForgeError {
            request: String::from("POST /x"),
            trouble: trouble(422, &[], body),
        };
        assert!(error.is_already_there());
        let text = error.to_string();
        assert!(text.contains("A pull request already exists") && text.contains("; plain"));
    }
}
