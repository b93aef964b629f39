//! Sandboxes around agents, commands and git.

pub(crate) mod agent;
pub(crate) mod attempts;
pub(crate) mod choice;
pub(crate) mod explain;
mod network;
pub(crate) mod ports;
pub(super) mod program;
mod shell;
pub(crate) mod task_commands;
