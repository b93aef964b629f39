//! What answers share: JSON, its schemas, and words.

pub(crate) mod age;
pub(crate) mod counted;
pub(crate) mod delivery;
pub(crate) mod doing;
pub(crate) mod results;
pub(crate) mod schemas;
