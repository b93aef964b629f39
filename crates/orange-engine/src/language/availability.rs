//! Words that workflows may use but this version cannot perform.
//!
//! They load, so tasks pinned to an older text keep working. `check` reports each as an error, so
//! no new task is bound to a workflow that would wait for something that never happens. Remove a
//! word from here when you implement it.

use super::gates::GateKind;
use super::hooks::Action;
use super::workflow::Trigger;

impl Action {
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
    /// Whether anything fires it in this version.
    pub fn is_available(self) -> bool {
        !matches!(self, Trigger::PrMerged | Trigger::PrClosed)
    }
}

impl GateKind {
    /// Whether this version can check it.
    pub fn is_available(&self) -> bool {
        !matches!(self, GateKind::PullRequest(_))
    }
}
