//! Placeholder for refusals.
