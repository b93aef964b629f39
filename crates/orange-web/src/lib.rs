//! The HTTP API: guards, operations, events.
//!
//! This crate knows requests and answers, but no task: `orange` gives it functions that run a
//! command, find a device, and read what has changed. An operation stands for a command of the
//! command line, so nothing is possible here that is not possible there.
//!
//! Every request passes the guard before anything reads its path: who may talk to this server is
//! decided in one place, for unknown paths too.

mod answer;
mod assets;
mod backend;
mod events;
mod guard;
mod limits;
mod openapi;
pub mod operations;
mod parameters;
mod public_url;
mod router;
mod server;
mod webhooks;

pub use backend::{Backend, Call, Change, Commit, Commits, Device, Pairing, Peer, Reply};
pub use events::{EVENT_SHAPE, Event};
pub use openapi::{ShapeSchema, document};
pub use public_url::PublicUrl;
pub use router::WEBHOOK;
pub use server::{Server, ServerError, Stopper};

/// The shape of an error.
const ERROR_SHAPE: &str = "orange.error/1";

/// The shape of the answer to a pairing.
pub const PAIR_SHAPE: &str = "orange.web.paired/1";
