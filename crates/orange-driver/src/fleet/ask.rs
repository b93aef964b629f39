//! What a person asks of a task, as JSON.

use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::{Deserialize, Serialize};

/// A request of a person. Unknown kinds are refused, so that nothing is guessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Ask {
    /// Move to a status.
    Move {
        to: Status,
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        confirmed: bool,
    },
    /// The transition that the workflow maps this verb to.
    Verb {
        verb: Verb,
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        confirmed: bool,
    },
    /// Send a message to an agent.
    Tell {
        message: String,
        #[serde(default)]
        role: Option<Role>,
    },
    /// Stop agents; the status stays.
    Stop {
        #[serde(default)]
        role: Option<Role>,
    },
    /// Bring back an agent that has ended.
    Respawn {
        #[serde(default)]
        role: Option<Role>,
    },
}

impl Ask {
    /// The request of a person; the server has verified which one.
    pub(super) fn request(self) -> Request {
        let (kind, message, is_confirmed) = match self {
            Ask::Move {
                to,
                message,
                confirmed,
            } => (RequestKind::Move { to }, message, confirmed),
            Ask::Verb {
                verb,
                message,
                confirmed,
            } => (RequestKind::Verb(verb), message, confirmed),
            Ask::Tell { message, role } => (RequestKind::Tell { role }, Some(message), false),
            Ask::Stop { role } => (RequestKind::Stop { role }, None, false),
            Ask::Respawn { role } => (RequestKind::Respawn { role }, None, false),
        };
        Request {
            message,
            is_confirmed,
            ..Request::new(Role::Human, kind)
        }
    }
}
