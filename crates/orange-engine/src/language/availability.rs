//! Words that a workflow may use and this version cannot perform.
//!
//! They load, so that tasks pinned to an older text go on; `check` calls each an error, so that no
//! new task is bound to a workflow that would wait for what never happens. Whoever implements one
//! takes it out of here.

use super::gates::GateKind;
use super::hooks::Action;
use super::workflow::Trigger;

impl Action {
    /// Whether this version performs it.
    pub fn is_available(&self) -> bool {
        !matches!(
            self,
            Action::CreatePr
                | Action::Route
                | Action::CommentIssue { .. }
                | Action::LabelIssue { .. }
                | Action::CloseIssue
        )
    }
}

impl Trigger {
    /// Whether something sets it off in this version.
    pub fn is_available(self) -> bool {
        !matches!(self, Trigger::PrMerged | Trigger::PrClosed)
    }
}

impl GateKind {
    /// Whether this version can find out what it asks for.
    pub fn is_available(&self) -> bool {
        !matches!(self, GateKind::PullRequest(_))
    }
}
