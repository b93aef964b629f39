//! Runs the real program in a sealed environment and keeps transcripts.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs: the real `orange`, and tmux around it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]

mod check;
mod config;
mod diff;
mod documentation;
mod graph;
mod help;
mod home;
#[path = "../judging/mod.rs"]
mod judging;
mod list;
mod new;
mod printing;
mod reference;
mod sandbox;
mod schema;
mod schemas;
mod show;
mod simulate;
mod simulate_dialogue;
mod terminal;
mod usage;
