//! `decide`: what follows from an input, and nothing else.
//!
//! It has no clock, file, environment or randomness, so the same three arguments always give the
//! same answer; `clippy.toml` and the architecture test enforce that. Every status change goes
//! through `transition`. A plan's events are folded through `apply` one by one as they are made, so
//! a decision and its replay cannot differ.

mod create;
mod edges;
mod gates;
mod held_back;
mod hints;
mod hooks;
mod merge;
mod observation;
mod outlook;
mod request;
mod respawn;
mod steps;
mod submission;
mod transition;
mod verdict;

use crate::decision::Decision;
use crate::input::{Cause, Input};
use crate::language::Workflow;
use crate::task::Task;

pub use create::create;
pub use held_back::held_back;
pub use outlook::outlook;
pub use verdict::stands_for;

/// Decides what an input means for a task.
pub fn decide(workflow: &Workflow, task: &Task, input: &Input) -> Decision {
    match &input.cause {
        Cause::Request(request) => request::decide(workflow, task, input, request),
        Cause::Observation(observation) => observation::decide(workflow, task, input, observation),
    }
}
