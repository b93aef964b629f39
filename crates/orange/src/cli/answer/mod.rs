//! What answers share: JSON, its schemas, and words.

pub(crate) mod results;
pub(crate) mod schemas;
pub(crate) mod words;
