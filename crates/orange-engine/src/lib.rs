//! The pure decision engine: known facts in, plan or refusal out.
//!
//! [`decide()`] takes a workflow, a task and an input and returns a plan, a refusal, or a need for
//! facts. [`apply()`] is the only fold from events to a task. Nothing here touches the world.

pub mod activity;
pub mod apply;
pub mod attention;
pub mod budget;
pub mod chat;
pub mod context_file;
pub mod death;
pub mod decide;
pub mod decision;
pub mod delegation;
pub mod document;
pub mod effect;
mod error_fingerprint;
pub mod event;
pub mod evidence;
pub mod failover;
pub mod forge;
pub mod format;
pub mod history;
pub mod input;
pub mod items;
pub mod job;
pub mod language;
pub mod merge_result;
pub mod merge_strategy;
pub mod names;
pub mod next_step;
pub mod parking;
pub mod permission;
pub mod refusal;
pub mod report;
pub mod role;
pub mod routing;
pub mod schedule;
pub mod shipped_workflows;
pub mod skill;
pub mod statistics;
pub mod summary;
pub mod task;
pub mod time;
pub mod usage;
pub mod why;
pub mod wording;

pub use apply::{apply, replay};
pub use decide::{
    address_caller_in_worktree, create, decide, next_steps, refuse_start, vouches_for_document,
};
pub use decision::{Decision, Needs, Plan};
pub use format::FORMAT;
pub use input::{Cause, DecisionContext, Input};
pub use language::{Workflow, load};
pub use refusal::Refusal;
pub use schedule::schedule;
pub use task::Task;
