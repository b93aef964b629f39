//! Everything of `orange` that is not a decision.

pub mod cli;
mod config;
mod output;
