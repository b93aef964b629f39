//! Sandboxes around agents, commands and git.

pub(crate) mod choice;
pub(super) mod program;
pub(crate) mod task_commands;
