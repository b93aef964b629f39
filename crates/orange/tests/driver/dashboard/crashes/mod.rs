//! Tests that need crash points or logged frames.

mod panics;
mod truth;
