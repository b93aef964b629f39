//! What orange asks of every chat server.

use orange_engine::chat::message::Incoming;

use super::error::ChatError;
use crate::forge::redact::Outbound;

/// An account on a chat server, by its token.
pub trait ChatClient: Send {
    /// The name of the account.
    fn fetch_name(&self) -> Result<String, ChatError>;

    /// Waits a while for messages after a position; without one, begins anew. `name` is that of
    /// the account.
    fn fetch(&self, position: Option<&str>, name: &str) -> Result<Batch, ChatError>;

    /// Sends the answer to a message.
    fn send(&self, message: MessageRef<'_>, text: &Outbound) -> Result<(), ChatError>;

    /// What is wrong with the settings, although the server accepts the token.
    fn find_problems(&self, name: &str) -> Result<Vec<String>, ChatError>;
}

/// A message that is answered.
#[derive(Clone, Copy, Debug)]
pub struct MessageRef<'a> {
    pub room: &'a str,
    pub id: &'a str,
}

/// Messages, and where to read on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub messages: Vec<Incoming>,
    /// The next position; `None` if it has not changed.
    pub next: Option<String>,
    /// What happened that the user should know.
    pub notes: Vec<String>,
}
