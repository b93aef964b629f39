//! Reads bodies, within a limit for each and one for all.

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::http::limits::{BODY_ROOM_KIB, BODY_TIMEOUT, ROOM_TIMEOUT};
use crate::http::refusal::Refusal;

/// Room in memory for the bodies of all requests.
#[derive(Debug)]
pub struct BodyRoom(Semaphore);

impl Default for BodyRoom {
    fn default() -> Self {
        let room = usize::try_from(BODY_ROOM_KIB).unwrap_or(usize::MAX);
        Self(Semaphore::new(room))
    }
}

impl BodyRoom {
    /// The body of a request. Its length must be known, so that there is room for it before it
    /// arrives.
    pub async fn read(&self, parts: &Parts, body: Body, limit: usize) -> Result<Vec<u8>, Refusal> {
        let mut lengths = parts.headers.get_all(CONTENT_LENGTH).iter();
        let length = lengths.next().map(|it| it.to_str().unwrap_or_default());
        let length: usize = match (length, limit) {
            (None, 0) => return Ok(Vec::new()),
            (None, _) => {
                let message = "send the length of the body, with `Content-Length`";
                let status = StatusCode::LENGTH_REQUIRED;
                return Err(Refusal::new(status, "length-required", message));
            }
            (Some(text), _) => text.parse().unwrap_or(usize::MAX),
        };
        let too_large = || {
            let message = format!("the body has more than {limit} bytes");
            Refusal::too_large(message).hint("send less in one call")
        };
        if length > limit {
            return Err(too_large());
        }
        let kib = u32::try_from(length / 1024 + 1).unwrap_or(u32::MAX);
        let room = timeout(ROOM_TIMEOUT, self.0.acquire_many(kib)).await;
        let busy = || Refusal::busy("too many large requests at once; try again");
        let _room = room.map_err(|_| busy())?.map_err(|_| busy())?;
        let read = timeout(BODY_TIMEOUT, to_bytes(body, length)).await;
        let read = read.map_err(|_| {
            let message = "the body took too long";
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", message)
        })?;
        Ok(read.map_err(|_| too_large())?.to_vec())
    }
}

/// A message of the protocol.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid(format!("the body is not this call: {error}")))
}
