//! A repository: found, called, its refs, its remote.

pub(crate) mod base;
pub(crate) mod call;
pub(crate) mod caller;
pub(crate) mod discover;
pub(crate) mod exclude;
pub(crate) mod lock;
pub(crate) mod name;
pub(crate) mod own;
pub(crate) mod refs;
pub(crate) mod remote;
pub(crate) mod settings;
pub(crate) mod settings_text;
