//! Listens on loopback and answers from the world.

mod caller;
mod fault;
mod graphql_call;
mod listener;
mod quota;
mod responder;
mod rest_call;
mod state;

pub use fault::Fault;
pub use listener::Server;
pub use state::{Call, State, Write};
