//! Commands from chats.

pub mod github;
pub mod telegram;
