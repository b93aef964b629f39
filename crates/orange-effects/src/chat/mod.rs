//! Chats, over the network: Telegram for now.
//!
//! Every request goes through the one door to the network, `forge/http.rs`. A token is never part
//! of an error.

pub mod error;
mod exchange;
pub mod secret;
pub mod telegram;
