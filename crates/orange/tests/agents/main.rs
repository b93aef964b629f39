//! The real agents, in pinned versions, with a scripted model.
//!
//! Each test runs in a namespace that has only loopback, with an empty environment and its own
//! home; see `apart`. `.ci/agents` installs the agents.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot set the stage must fail loudly, and each tells what it measured"
)]
#![cfg(target_os = "linux")]

mod agent;
mod canaries;
mod events;
mod fleet;
mod forge;
mod headless;
mod lessons;
mod limits;
mod matrix;
mod mcp;
mod messages;
mod namespace;
mod network;
mod night;
mod permission;
mod permission_levels;
mod readiness;
mod report;
mod respawn;
mod router;
mod secret_watch;
mod skills;
mod stage;
mod stories;
