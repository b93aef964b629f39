//! Performs effects on the real tmux and on real processes.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]

mod attach;
mod bell;
mod command;
mod control;
mod exec_run;
mod harness;
mod hostile;
mod nudge;
mod stage;
mod start;

// Other systems give less information about processes, so this is not promised there.
#[cfg(target_os = "linux")]
mod detach;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod observe;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod tether;
