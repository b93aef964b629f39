//! The store against real files, real processes and the real engine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod file_location;
mod files;
mod fleet;
mod histories;
mod issues;
mod log_size;
mod notes;
mod old_home;
mod open;
mod parked_harnesses;
mod posts;
mod pull_requests;
mod races;
mod rebuild;
mod record;
mod replayed;
mod sandbox;
mod statistics;
mod writers;

#[expect(
    dead_code,
    reason = "the engine's own tests use all of it, these only a part"
)]
#[path = "../../../orange-engine/tests/engine/fixtures.rs"]
mod fixtures;
