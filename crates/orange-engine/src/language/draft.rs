//! A state being read, before defaults are filled in.

use std::collections::BTreeMap;

use super::hooks::Hook;
use super::problem::Position;
use super::workflow::{Kind, Respawn, State, Timeout};
use crate::names::{PromptName, Status};
use crate::role::Role;

/// A state as written; what the file leaves out is not filled in yet.
pub(super) struct Draft {
    pub(super) name: Status,
    pub(super) kind: Option<Kind>,
    pub(super) expects: Option<Vec<Role>>,
    pub(super) respawn: BTreeMap<Role, Respawn>,
    /// The short form of `respawn`; its role is known only once `expects` is filled in.
    pub(super) respawn_prompt: Option<PromptName>,
    pub(super) on_enter: Vec<Hook>,
    pub(super) timeout: Option<Timeout>,
    pub(super) at: Position,
}

impl Draft {
    /// The finished state, after `defaults::fill_states` has filled in the rest.
    pub(super) fn into_state(self) -> State {
        State {
            name: self.name,
            kind: self.kind.unwrap_or(Kind::Human),
            expects: self.expects.unwrap_or_default(),
            respawn: self.respawn,
            on_enter: self.on_enter,
            timeout: self.timeout,
            at: self.at,
        }
    }
}
