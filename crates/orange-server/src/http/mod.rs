//! The calls of the protocol over HTTP.

mod admission;
mod app;
mod body;
mod connection;
pub mod endpoints;
pub mod limits;
mod names;
mod people_calls;
mod refusal;
mod router;
mod runner_calls;
mod status_calls;
mod token_calls;

pub use app::{App, PERSON_KIND, Report};
pub use connection::{accept, wait_for_stop};
pub use token_calls::{
    CODE_KIND_JOIN, CODE_KIND_PERSON, CodeRequest, Exchange, INVITATION_LIFETIME, JOIN_LIFETIME,
};
