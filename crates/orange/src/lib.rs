//! Everything of `orange` that is not a decision.

pub mod cli;
pub mod config;
mod output;
pub mod store;
