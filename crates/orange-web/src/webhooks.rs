//! GitHub's webhooks: what is signed, and what was delivered before.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::header::HeaderName;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

use crate::answer::Refusal;
use crate::guard::only;

const SIGNATURE: HeaderName = HeaderName::from_static("x-hub-signature-256");
const DELIVERY: HeaderName = HeaderName::from_static("x-github-delivery");

/// The longest id of a delivery, and how many are remembered.
const MAX_ID: usize = 64;
const KEPT_IDS: usize = 1_000;

/// The deliveries that were accepted, the oldest first.
#[derive(Debug, Default)]
pub struct Deliveries(Mutex<VecDeque<String>>);

/// What is read of a delivery. The rest is not believed: it is asked for at the forge.
#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    html_url: String,
}

/// Refuses a body that was not signed with the secret.
pub fn require_signed(secret: &str, headers: &HeaderMap, body: &[u8]) -> Result<(), Refusal> {
    let given = only(headers, &SIGNATURE).and_then(|it| it.strip_prefix("sha256="));
    let given = given.and_then(from_hex);
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
    let is_signed = match (given, mac) {
        (Some(given), Ok(mac)) => mac.chain_update(body).verify_slice(&given).is_ok(),
        _ => false,
    };
    if is_signed { Ok(()) } else { Err(unsigned()) }
}

/// The answer to what is not signed, also while webhooks are off.
pub fn unsigned() -> Refusal {
    let message = "this needs the signature of a webhook";
    Refusal::new(StatusCode::UNAUTHORIZED, "signature-invalid", message)
        .hint("`orange web webhook` prints the secret for GitHub")
}

/// The URL of the repository that a delivery is about.
pub fn repository(body: &[u8]) -> Result<Option<String>, Refusal> {
    let payload: Result<Payload, _> = serde_json::from_slice(body);
    let payload = payload.map_err(|_| {
        let message = "the body is not a delivery of GitHub";
        Refusal::new(StatusCode::BAD_REQUEST, "body-invalid", message)
    })?;
    Ok(payload.repository.map(|it| it.html_url))
}

/// The id of a delivery.
pub fn id(headers: &HeaderMap) -> Result<&str, Refusal> {
    let id = only(headers, &DELIVERY).filter(|it| !it.is_empty() && it.len() <= MAX_ID);
    id.ok_or_else(|| {
        let message = "`X-GitHub-Delivery` must be the id of the delivery";
        Refusal::new(StatusCode::BAD_REQUEST, "parameter-invalid", message)
    })
}

impl Deliveries {
    /// Adds a delivery; returns whether it is new.
    pub fn add(&self, id: &str) -> bool {
        let mut kept = self.kept();
        if kept.iter().any(|it| it == id) {
            return false;
        }
        if kept.len() >= KEPT_IDS {
            kept.pop_front();
        }
        kept.push_back(id.to_owned());
        true
    }

    /// Removes a delivery that had no effect.
    pub fn forget(&self, id: &str) {
        self.kept().retain(|it| it != id);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of 64 hexadecimal digits.
fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    /// The example of GitHub's documentation.
    #[test]
    fn only_what_the_secret_signed_is_accepted() {
        let secret = "It's a Secret to Everybody";
        let body = b"Hello, World!";
        let signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let good = headers(&SIGNATURE, &format!("sha256={signature}"));
        assert!(require_signed(secret, &good, body).is_ok());
        let changed = signature.replace('7', "8");
        for bad in [
            signature.to_owned(),
            format!("sha1={signature}"),
            format!("sha256={changed}"),
            format!("sha256={signature}00"),
            format!("sha256={}", &signature[..62]),
            String::from("sha256="),
            format!("sha256=+{}", &signature[1..]),
        ] {
            let bad = headers(&SIGNATURE, &bad);
            assert!(require_signed(secret, &bad, body).is_err(), "{bad:?}");
        }
        assert!(require_signed(secret, &HeaderMap::new(), body).is_err());
        assert!(require_signed(secret, &good, b"Hello, World").is_err());
        assert!(require_signed("another", &good, body).is_err());
        let mut twice = good.clone();
        twice.append(SIGNATURE, good[SIGNATURE].clone());
        assert!(require_signed(secret, &twice, body).is_err());
    }

    #[test]
    fn a_delivery_counts_once_and_old_ones_are_forgotten() {
        let deliveries = Deliveries::default();
        assert!(deliveries.add("first"));
        assert!(!deliveries.add("first"));
        deliveries.forget("first");
        assert!(deliveries.add("first"));
        for number in 0..KEPT_IDS {
            assert!(deliveries.add(&number.to_string()));
        }
        assert_eq!(deliveries.kept().len(), KEPT_IDS);
        assert!(deliveries.add("first"));
        let long = "x".repeat(MAX_ID + 1);
        for bad in ["", &long] {
            assert!(id(&headers(&DELIVERY, bad)).is_err());
        }
    }
}
