//! Drives tasks on real git and tmux with a scripted agent.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]
#![cfg(target_os = "linux")]

mod completing;
#[cfg(feature = "crash-points")]
mod crashes;
mod deaths;
mod hooks;
mod hostile;
mod identity;
#[path = "../judging/mod.rs"]
mod judging;
mod lessons;
mod library;
mod listing;
mod logging;
mod losses;
mod merging;
mod midst;
mod nudging;
mod program;
mod racing;
mod rebuilding;
mod restarts;
mod rounds;
mod settings;
mod stage;
mod stories;
mod telling;
