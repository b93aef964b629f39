//! Drives tasks on real git and tmux with a scripted agent.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot set the stage must fail loudly, and some tell what they measured"
)]
#![cfg(target_os = "linux")]

mod chat;
#[cfg(feature = "crash-points")]
mod costs;
#[cfg(feature = "crash-points")]
mod crashes;
mod dashboard;
mod delivery;
mod failures;
mod fleet;
mod follower;
mod forge;
mod home_moves;
mod hooks;
mod hostile;
mod identity;
mod install_script;
mod job_races;
mod jobs;
mod library;
mod lifecycles;
mod long_queue;
mod policy;
mod progress;
mod quick_starts;
mod races;
mod reentrant_calls;
mod roles;
#[path = "../schema_check/mod.rs"]
mod schema_check;
mod settings;
mod supervisor;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the tests of the commands use the rest")]
mod support;
mod task_names;
mod workflow_binding;
