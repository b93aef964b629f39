//! The protocol of a fleet: messages, the runner's link, a reference ledger.
//!
//! A runner commits locally, ships the commit to the server's log, and performs effects only after
//! the log has acknowledged it. Nothing here reads a file or a clock: times and messages arrive as
//! arguments, and what is to be done is returned.

pub mod capability;
pub mod chain;
pub mod ids;
pub mod json;
pub mod ledger;
pub mod link;
pub mod message;
pub mod time;

/// The version of the messages. Calls name it in their path, as `/v1`.
pub const PROTOCOL: u32 = 1;
