//! A way out of a status, with what it still needs.

use serde::Serialize;

use crate::language::verbs::Verb;
use crate::language::workflow::Trigger;
use crate::names::Status;
use crate::refusal::Missing;
use crate::role::Role;

/// A way out of the present status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Where it leads; nowhere when it goes back and there is nothing to go back to.
    pub to: Option<Status>,
    pub trigger: Trigger,
    /// When that is, in words; nothing for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happens_when: Option<String>,
    /// Who may ask; everybody when empty.
    pub by: Vec<Role>,
    pub holds: Vec<String>,
    pub missing: Vec<Missing>,
    /// What is only looked at when somebody asks.
    pub unchecked: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip)]
    pub verbs: Vec<Verb>,
    /// Whether what is said with it reaches somebody.
    #[serde(skip)]
    pub takes_message: bool,
}

impl Way {
    /// Whether a person may ask for it.
    pub fn is_for_person(&self) -> bool {
        let is_asked_for = self.trigger == Trigger::Request || self.verbs.contains(&Verb::Merge);
        is_asked_for && (self.by.is_empty() || self.by.contains(&Role::Human))
    }

    /// The question that a person is asked first.
    pub fn question(&self) -> Option<&str> {
        self.missing.iter().find_map(|missing| match missing {
            Missing::ConfirmationNeeded { question } => Some(question.as_str()),
            _ => None,
        })
    }
}
