//! The database against a real PostgreSQL.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, starts real programs and waits"
)]

mod calls;
mod crashes;
mod fixture;
mod histories;
mod laws;
mod needed;
mod organisations;
mod races;
mod refusals;
mod rows;
mod schema;
mod timelines;
mod tokens;
