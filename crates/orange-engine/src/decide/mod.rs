//! `decide`: what follows from an input, and nothing else.
//!
//! It has no clock, file, environment or randomness, so the same three arguments always give the
//! same answer; `clippy.toml` and the architecture test enforce that. Every status change goes
//! through `transition`. A plan's events are folded through `apply` one by one as they are made, so
//! a decision and its replay cannot differ.

mod create;
mod edges;
mod gates;
mod hints;
mod hooks;
mod merge;
mod next_steps;
mod observation;
mod plan_builder;
mod pull_request_gate;
mod refuse_start;
mod request;
mod respawn;
mod submission;
mod transition;
mod verdict;

use crate::decision::Decision;
use crate::input::{Cause, Input};
use crate::language::Workflow;
use crate::task::Task;

pub use create::create;
pub use hints::address_caller_in_worktree;
pub use next_steps::next_steps;
pub use refuse_start::refuse_start;
pub use verdict::vouches_for_document;

/// Decides what an input means for a task.
pub fn decide(workflow: &Workflow, task: &Task, input: &Input) -> Decision {
    match &input.cause {
        Cause::Request(request) => request::decide(workflow, task, input, request),
        Cause::Observation(observation) => observation::decide(workflow, task, input, observation),
    }
}
