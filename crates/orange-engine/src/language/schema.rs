//! The language for editors: a JSON Schema, draft 2020-12.
//!
//! Written by hand, because its descriptions are what a person reads while writing a workflow. The
//! reader in `read/` decides; `tests/schema` asks it for every key and word it knows and fails when
//! the schema knows others. The schema refuses nothing that the reader takes, with two exceptions:
//! it wants numbers, `true` and `false` without quotes, and quotes around a name that YAML would
//! take for one of those. It has only keywords that older drafts have too, because editors know
//! those best.

/// The schema as it is printed.
pub const SCHEMA: &str = include_str!("schema.json");
