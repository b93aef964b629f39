//! The web API of the real program, by raw sockets.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start the program, and talk to it without a library"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]
#![cfg(all(target_os = "linux", feature = "web"))]

mod agents;
mod attacks;
mod bounds;
mod browser;
mod client;
mod description;
mod devices;
mod events;
mod generated;
mod operations;
#[path = "../schema_check/mod.rs"]
mod schema_check;
mod story;
#[path = "../support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests of the driver use the rest"
)]
mod support;
mod webhooks;
