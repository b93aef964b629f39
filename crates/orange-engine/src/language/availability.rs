//! Words that workflows may use but this version cannot perform.
//!
//! They load, so tasks pinned to an older text keep working. `check` reports each as an error, so
//! no new task is bound to a workflow that would wait for something that never happens. Remove a
//! word from here when you implement it.

use super::hooks::Action;

impl Action {
    pub fn is_available(&self) -> bool {
        !matches!(self, Action::Route)
    }
}
