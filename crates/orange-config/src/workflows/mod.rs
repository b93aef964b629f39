//! Workflow files: found, read and judged.

pub(crate) mod catalog;
pub(crate) mod examine;
pub(crate) mod new_workflow;
pub(crate) mod script;
pub(crate) mod source;
