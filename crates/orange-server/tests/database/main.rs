//! The database against a real PostgreSQL.

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
