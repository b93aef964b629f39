//! Jobs: work that starts by the clock.

mod command;
mod follow;
pub(crate) mod manage;
mod recover;
