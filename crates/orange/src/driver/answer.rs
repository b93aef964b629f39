//! What asking came to.

use orange_engine::event::Event;
use orange_engine::{Refusal, Task};

/// What asking came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It happened, and so did whatever it had planned.
    Done(Box<Changed>),
    /// It happened; what it had planned is still on its way. Asking again tells.
    StillRunning(Box<Changed>),
    /// It had happened before.
    Already(Box<Task>),
    /// It did not happen.
    Refused(Box<Refusal>),
}

/// A task and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The task as it is now.
    pub task: Task,
    /// What was recorded for the request itself.
    pub events: Vec<Event>,
}
