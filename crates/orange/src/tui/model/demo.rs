//! What the dashboard knows about the demo that it shows.

use orange_engine::names::TaskId;

use super::entry::Entry;
use super::list::List;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demo {
    /// The tasks that the demo's story is about.
    tasks: Vec<TaskId>,
    /// Whether the user has done anything yet.
    pub is_begun: bool,
    /// Whether the end of the demo was announced.
    pub is_end_shown: bool,
}

impl Demo {
    pub fn new(tasks: &[TaskId]) -> Demo {
        Demo {
            tasks: tasks.to_vec(),
            is_begun: false,
            is_end_shown: false,
        }
    }

    /// Whether every task of the story is merged, cancelled or deleted.
    pub fn is_over(&self, list: &List) -> bool {
        let is_ended = |id: &TaskId| list.entry(id).is_none_or(Entry::is_ended);
        list.is_loaded && self.tasks.iter().all(is_ended)
    }
}
