//! The database against a real PostgreSQL.

mod calls;
mod crashes;
mod fixture;
mod histories;
mod laws;
mod organisations;
mod races;
mod refusals;
mod rows;
mod schema;
mod tokens;
