//! The source documents of the shipped workflows.

/// The structure of both documents, with prompts in our own words.
pub const LARGE: &str = include_str!("seeds/large.yml");
pub const MINIMAL: &str = include_str!("seeds/minimal.yml");
