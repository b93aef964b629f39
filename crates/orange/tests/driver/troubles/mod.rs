//! Kills, signals, losses and restarts: what continues afterwards.

mod after_trouble;
pub mod deaths;
mod interrupting;
mod losses;
mod restarts;
mod wishes;
