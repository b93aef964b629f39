//! A way out of a status, with what it still needs.

use serde::Serialize;

use crate::language::workflow::Trigger;
use crate::names::Status;
use crate::refusal::Missing;
use crate::role::Role;

/// A way out of the present status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Where it leads; nowhere when it goes back and there is nothing to go back to.
    pub to: Option<Status>,
    /// What sets it off.
    pub trigger: Trigger,
    /// When that is, in words; nothing for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub happens_when: Option<String>,
    /// Who may ask; everybody when empty.
    pub by: Vec<Role>,
    /// What holds already.
    pub holds: Vec<String>,
    /// What stands in the way.
    pub missing: Vec<Missing>,
    /// What is only looked at when somebody asks.
    pub unchecked: Vec<String>,
    /// What to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
