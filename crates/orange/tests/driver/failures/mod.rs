//! Kills, signals, losses and restarts: what continues afterwards.

pub mod deaths;
mod hand_edits;
mod lost_resources;
mod recovery;
mod restarts;
mod signals;
mod unreadable_task;
