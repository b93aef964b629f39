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
mod command;
mod detach;
mod exec_run;
mod harness;
mod hostile;
mod kill;
mod nudge;
mod observe;
mod process;
mod stage;
mod start;
