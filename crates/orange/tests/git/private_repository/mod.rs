//! The private repository of a task, in a real sandbox.

mod hostile_files;
mod hostile_packs;
mod import;
pub mod kills;
mod laws;
mod operations;
mod operations_table;
mod sandbox;
mod snapshot;
mod uncovered;
