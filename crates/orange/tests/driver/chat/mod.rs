//! Commands from chats.

pub mod telegram;
