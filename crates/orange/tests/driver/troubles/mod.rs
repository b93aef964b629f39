//! Kills, signals, losses and restarts: what goes on afterwards.

mod after_trouble;
pub mod deaths;
mod interrupting;
mod losses;
mod restarts;
mod wishes;
