//! Performs the effects of git on real repositories in temporary directories.
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
mod dirt;
mod facts;
mod killed;
mod meanwhile;
mod merging;
mod merging_killed;
mod merging_remote;
mod planted;
mod pool;
mod table;
mod yard;
