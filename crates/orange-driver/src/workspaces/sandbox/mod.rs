//! Sandboxes around agents, commands and git.

pub(crate) mod choice;
mod network;
pub(super) mod program;
pub(crate) mod task_commands;
