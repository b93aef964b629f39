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

mod after_trouble;
mod agent_events;
mod attention;
mod binding;
mod checkups;
mod codes;
mod commands;
mod completing;
#[cfg(feature = "crash-points")]
mod crashes;
mod creating;
mod dashboard;
mod deaths;
mod delivering;
mod demo;
mod failed_starts;
mod first_session;
mod following;
mod headless;
mod hooks;
mod hostile;
mod identity;
mod installing;
mod interrupting;
#[path = "../judging/mod.rs"]
mod judging;
mod lessons;
mod library;
mod listing;
mod logging;
mod looking;
mod losses;
mod merging;
mod midst;
mod naming;
mod nudging;
mod obeying;
mod printing;
mod program;
mod projects;
mod putting_away;
mod racing;
mod rebuilding;
mod reports;
mod restarts;
mod retrying;
mod roles;
mod rounds;
mod scheduling;
mod settings;
mod stage;
mod stories;
mod supervisor;
mod telling;
mod terminal;
mod transcript;
mod watching;
mod wishes;
