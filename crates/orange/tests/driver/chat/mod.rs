//! Commands from chats.

mod telegram;
