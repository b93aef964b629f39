//! The schema for editors agrees with the reader.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod examples;
mod fixtures;
mod invalid_files;
mod mutants;
mod shape;
mod vocabulary;
