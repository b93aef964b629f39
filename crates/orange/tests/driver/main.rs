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

mod binding;
#[cfg(feature = "crash-points")]
mod crashes;
mod dashboard;
mod delivering;
mod following;
mod hooks;
mod hostile;
mod identity;
#[path = "../judging/mod.rs"]
mod judging;
mod library;
mod lives;
mod midst;
mod naming;
mod progress;
mod racing;
mod roles;
mod settings;
mod supervisor;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the tests of the commands use the rest")]
mod support;
mod troubles;
