//! Workflow files: found, read and checked.

pub(crate) mod catalog;
pub(crate) mod load;
pub(crate) mod new_workflow;
pub(crate) mod script;
pub(crate) mod source;
