//! `orange mcp` of the real program, by a client of our own.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start the program, and talk to it without a library"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]
#![cfg(all(target_os = "linux", feature = "mcp"))]

mod bounds;
mod client;
mod documentation;
mod endings;
mod hostile;
mod protocol;
mod runs;
#[path = "../schema_check/mod.rs"]
mod schema_check;
#[path = "../support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests of the driver use the rest"
)]
mod support;
mod tools;
