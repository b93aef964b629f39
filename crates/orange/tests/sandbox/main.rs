//! Runs agents in a real sandbox, and the same without one.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs around the ones under test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot set the stage must fail loudly, and says what it could not try"
)]

mod calls;
mod capabilities;
mod commands;
mod corpus;
mod endings;
mod fixture;
mod freezing;
mod hidden_files;
mod hostile_operations;
mod injected_login;
mod network;
#[path = "../git/private_repository/operations_table.rs"]
mod operations_table;
mod ordinary_user;
mod partial;
mod processes;
mod repository_operations;
mod repository_stories;
mod sandbox_commands;
#[path = "../schema_check/mod.rs"]
mod schema_check;
mod seccomp;
mod stories;
#[path = "../support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests of the commands use the rest"
)]
mod support;
mod survivors;
mod terminal;
