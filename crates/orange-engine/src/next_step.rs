//! An edge out of a status, with what it still needs.

use serde::Serialize;

use crate::language::verbs::Verb;
use crate::language::workflow::Trigger;
use crate::names::Status;
use crate::refusal::Blocker;
use crate::role::Role;

/// An edge out of the current status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// Where it leads; `None` when it goes back and there is no previous status.
    pub to: Option<Status>,
    pub trigger: Trigger,
    /// What triggers the edge, in words; `None` for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happens_when: Option<String>,
    /// The roles that may request it; any role when empty.
    pub by: Vec<Role>,
    pub passed: Vec<String>,
    pub missing: Vec<Blocker>,
    /// Gates that are checked only on a request.
    pub unchecked: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The verbs that take it from here.
    pub verbs: Vec<Verb>,
    /// Whether a hook passes on a message that is given with the request.
    pub accepts_message: bool,
}

impl NextStep {
    /// Whether the user may request it.
    pub fn is_open_to_user(&self) -> bool {
        let is_by_request = self.trigger == Trigger::Request || self.verbs.contains(&Verb::Merge);
        is_by_request && (self.by.is_empty() || self.by.contains(&Role::Human))
    }

    /// The question that the user must confirm first.
    pub fn question(&self) -> Option<&str> {
        self.missing.iter().find_map(|missing| match missing {
            Blocker::ConfirmationNeeded { question } => Some(question.as_str()),
            _ => None,
        })
    }
}
