//! Why a chat server gave no usable answer.

use crate::forge::error::Trouble;

/// Why a request to a chat server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    #[error("{0}")]
    NoToken(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("the server rejected the token; check that it is complete and was not revoked")]
    TokenRejected,
    #[error("the server wants {seconds} seconds without requests")]
    Busy { seconds: u64 },
    #[error("another program reads the messages of this bot; stop it, or use another bot")]
    ReadElsewhere,
    #[error("the server refused it ({0})")]
    Refused(String),
    #[error("the server failed with {0}; orange tries again")]
    ServerFailed(u16),
    #[error("the answer could not be read ({0})")]
    Malformed(String),
}

impl ChatError {
    pub(super) fn from_trouble(trouble: &Trouble) -> ChatError {
        match trouble {
            Trouble::Malformed { reason } => ChatError::Malformed(reason.clone()),
            other => ChatError::Unreachable(other.to_string()),
        }
    }

    /// Whether the same request would fail again for good.
    pub fn is_final(&self) -> bool {
        matches!(self, ChatError::Refused(_))
    }

    /// For how many seconds the server wants no requests.
    pub fn pause(&self) -> Option<u64> {
        match self {
            ChatError::Busy { seconds } => Some(*seconds),
            _ => None,
        }
    }
}
