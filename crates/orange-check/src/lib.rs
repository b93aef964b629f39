//! Proves, compares and draws workflows, by the engine's own decisions.

pub mod check;
pub mod diff;
pub mod explore;
pub mod graph;
