//! The workflow language: YAML in, a checked workflow or every problem out.

pub mod declarations;
pub mod defaults;
mod draft;
pub mod exit_rules;
pub mod gates;
pub mod hooks;
pub mod intervals;
mod nearest;
mod problem;
pub mod prompt;
mod read;
mod rules;
pub mod schema;
pub mod verbs;
pub mod when;
pub mod workflow;
mod yaml;

pub(crate) use defaults::ATTEMPTS;
pub use defaults::{
    CHILDREN_OPEN, CRASH_COUNT, DERIVED_FIELDS, SAME_ERRORS, SUMMARY_CHARS, is_text_variable,
};
pub use nearest::nearest;
pub use problem::{Position, Problem, ProblemCode};
pub use read::{LoadResult, load, load_pinned};
pub use workflow::Workflow;
pub use yaml::MAX_WORKFLOW_BYTES;
