//! The language for editors: a JSON Schema, draft 2020-12.
//!
//! It is written by hand, because its descriptions are what you read in your editor while you write
//! a workflow. The reader in `read/` is authoritative; `tests/schema` compares every key and word
//! it knows with the schema and fails if they differ. The schema rejects nothing that the reader
//! accepts, with two exceptions: numbers, `true` and `false` must not be quoted, and a name that
//! YAML would take for one of those must be quoted. It uses only keywords that older drafts have
//! too, because editors support those best.

pub const SCHEMA: &str = include_str!("schema.json");
