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
#[cfg(target_os = "linux")]
mod collect;
mod dirt;
mod facts;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod hostile;
mod killed;
#[cfg(target_os = "linux")]
mod many;
mod meanwhile;
mod merging;
mod merging_killed;
mod merging_remote;
#[cfg(target_os = "linux")]
mod misled;
mod planted;
mod pool;
#[cfg(target_os = "linux")]
mod reviewed;
#[cfg(target_os = "linux")]
mod roads;
mod table;
#[cfg(target_os = "linux")]
mod working_copy;
mod yard;
