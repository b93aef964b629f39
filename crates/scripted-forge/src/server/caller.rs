//! What REST and GraphQL requests share.

use serde_json::Value;

use super::fault::Fault;
use super::state::{Call, State};
use crate::http::{Answer, Request};
use crate::world::World;

/// A request whose token belongs to a user.
pub struct Caller<'a> {
    pub request: &'a Request,
    pub viewer: String,
    /// The path without the prefix of an Enterprise server.
    pub path: String,
    pub base: String,
    /// Where logs are stored.
    pub storage: &'a str,
}

/// Calls `run` with the world. A read gets the outdated replica instead, while there is one.
pub fn with_world<T>(state: &mut State, writes: bool, run: impl FnOnce(&mut World) -> T) -> T {
    if writes {
        let old = (state.lag > 0).then(|| (state.world.clone(), state.lag));
        let result = run(&mut state.world);
        state.replica = old.or(state.replica.take());
        return result;
    }
    match state.replica.take() {
        Some((mut old, left)) => {
            let result = run(&mut old);
            state.replica = (left > 1).then(|| (old, left - 1));
            result
        }
        None => run(&mut state.world),
    }
}

pub fn parse_body(bytes: &[u8]) -> serde_json::Result<Option<Value>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(bytes).map(Some)
}

pub fn call(
    request: &Request,
    operation: &str,
    fields: &[String],
    viewer: &str,
    answer: &Answer,
    cost: u64,
    fault: Option<Fault>,
) -> Call {
    Call {
        operation: operation.to_owned(),
        fields: fields.to_vec(),
        method: request.method.clone(),
        path: request.path.clone(),
        viewer: viewer.to_owned(),
        status: answer.status,
        cost,
        fault,
    }
}
