//! The tables of the database, one file each.

pub(crate) mod chat;
pub(crate) mod delegations;
pub(crate) mod events;
pub(crate) mod gate_commands;
pub(crate) mod imports;
pub(crate) mod inbox;
pub(crate) mod issue_tasks;
pub(crate) mod issues;
pub(crate) mod jobs;
mod merge_queue;
pub(crate) mod notifications;
pub(crate) mod parkings;
pub(crate) mod pending;
pub(crate) mod posts;
pub(crate) mod pull_requests;
pub(crate) mod queue;
pub(crate) mod rows;
pub(crate) mod run_processes;
pub(crate) mod runs;
pub(crate) mod spend;
mod statistics;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod workspaces;
