//! The roles: user, engine, and kinds of agent.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// A role in the lifecycle: the user, the engine itself, or a kind of agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The user at the keyboard.
    Human,
    /// The engine acting on an observation, or the scheduler acting on the queue.
    Engine,
    /// The agent that does the work.
    Worker,
    /// The agent that judges the work.
    Reviewer,
    /// Another agent role that the workflow declares under `roles:`.
    Other(Arc<str>),
}

impl Role {
    /// Reads a role; any name that is not built in becomes another agent role.
    pub fn from_name(name: &str) -> Role {
        match name {
            "human" => Role::Human,
            "engine" => Role::Engine,
            "worker" => Role::Worker,
            "reviewer" => Role::Reviewer,
            other => Role::Other(Arc::from(other)),
        }
    }

    /// The role's name in YAML.
    pub fn as_str(&self) -> &str {
        match self {
            Role::Human => "human",
            Role::Engine => "engine",
            Role::Worker => "worker",
            Role::Reviewer => "reviewer",
            Role::Other(name) => name,
        }
    }

    /// The agent of `orange chat`. It works on no task, and may do nothing that is the user's.
    pub fn assistant() -> Role {
        Role::from_name("assistant")
    }

    /// Whether this is the role of an agent, not of the user or the engine.
    pub fn is_agent(&self) -> bool {
        !matches!(self, Role::Human | Role::Engine)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

crate::names::written_as_text!(Role);

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Role::from_name(&name))
    }
}
