//! What answers share: errors, exit codes, JSON and its schemas.

pub(crate) mod error;
pub(crate) mod exit;
pub(crate) mod results;
pub(crate) mod schemas;
pub(crate) mod words;
