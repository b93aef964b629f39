//! Chats, over the network.
//!
//! Every request goes through the one door to the network, `forge/http.rs`. A token is never part
//! of an error.

pub mod client;
pub mod error;
mod exchange;
pub mod matrix;
pub mod secret;
pub mod telegram;
