//! Everything of `orange` that is not a decision.

pub mod cli;
pub mod clock;
pub mod config;
pub mod driver;
pub mod effects;
mod output;
mod steps;
pub mod store;
pub mod supervisor;
pub mod tui;
