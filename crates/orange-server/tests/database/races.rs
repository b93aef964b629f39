//! Placeholder for races.
