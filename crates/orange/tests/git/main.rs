//! Performs git effects on real repositories in temporary directories.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]

mod checkout;
mod concurrent_writes;
#[cfg(target_os = "linux")]
mod contention;
mod dirty_states;
mod dirty_states_table;
mod facts;
#[cfg(target_os = "linux")]
mod home_fixture;
#[cfg(target_os = "linux")]
mod hostile;
mod kill_points;
mod merge;
mod merge_elsewhere;
mod merge_kill_points;
#[cfg(target_os = "linux")]
mod merge_laws;
mod merge_remote;
mod merge_strategies;
#[cfg(target_os = "linux")]
mod no_loss_table;
mod planted_programs;
mod pool;
#[cfg(target_os = "linux")]
mod private_repository;
mod repo_fixture;
#[cfg(target_os = "linux")]
mod submodules;
#[cfg(target_os = "linux")]
mod tampered_config;
#[cfg(target_os = "linux")]
mod working_copy;
#[cfg(target_os = "linux")]
mod workspace_commands;
