//! Tests that need crash points or logged frames.

mod consistency;
mod panics;
