//! The forge, over the network: GitHub for now.
//!
//! `http.rs` is the only place that connects to it. A [`client::Client`] sends one request at a
//! time and sorts every answer into a value or a [`error::ForgeError`]; it never repeats a write.
//! Text that orange sends is a [`redact::Outbound`], which only the redactor makes.

mod classify;
pub mod client;
mod control_sequences;
pub mod error;
pub mod github;
pub mod graph;
pub mod host;
pub(crate) mod http;
mod known_values;
mod link;
pub mod pacing;
mod proxy;
pub mod redact;
mod secret_formats;
pub mod token;
pub mod webhook;

pub(crate) use http::tls_config;
pub(crate) use proxy::Proxies;

#[cfg(test)]
pub(crate) mod tests;
