//! Decides what a chat message may cause; touches no network.
//!
//! A message cannot do what only the user may do, such as merging: that is answered with the command
//! to run. Nothing is acted on unless its sender is on an allow-list or, on GitHub, may write to the
//! repository. An empty list allows no one.

pub mod answer;
pub mod channel;
pub mod command;
pub mod comment;
pub mod message;
