//! Everything that can happen to a task, tried through `decide`.
//!
//! A [`Situation`] is what determines a task's future: its status, its counters, what it holds and
//! which agents are alive. A [`Step`] leads from one to the next through the same `decide` and
//! `apply` that run tasks, so what is explored cannot differ from what happens. Between two steps
//! every effect has been performed; a failing effect is a step of its own.

mod artifact;
mod notice;
mod possible_steps;
mod rehearsal;
mod relevance;
mod replay;
mod search;
mod situation;
mod step;

pub use notice::Notice;
pub use possible_steps::{creation_steps, possible_steps};
pub(crate) use possible_steps::{rule_targets, rules};
pub use rehearsal::Rehearsal;
pub use relevance::Relevance;
pub use replay::{Replay, StepOutcome, StepRefusal, new_task_of};
pub use search::{Arc, Exploration, MAX_SITUATIONS, Node, Visit, explore, situation_limit};
pub use situation::Situation;
pub use step::{EffectFailure, Occurrence, PullRequestEvent, Step, StepEvidence};
