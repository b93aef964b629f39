//! Decides what a chat message may cause; touches no network.
//!
//! A message never counts as the user: what only the user may do is answered with the command to
//! run. Nothing is acted on unless its sender is on an allow-list, and an empty list allows no one.

pub mod answer;
pub mod channel;
pub mod command;
pub mod message;
