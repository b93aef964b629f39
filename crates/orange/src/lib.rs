//! The program: its commands and its dashboard.

pub mod cli;
mod output;
pub mod tui;
