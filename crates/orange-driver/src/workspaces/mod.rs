//! Worktrees of the pool, and the work in them.

pub(crate) mod diff;
pub(crate) mod gc;
pub(crate) mod lifecycle;
pub(crate) mod list;
pub(crate) mod pool;
pub(crate) mod ports;
pub(crate) mod prepare;
pub(crate) mod registered_remote;
pub(crate) mod releases;
pub(crate) mod rename;
pub(crate) mod repository;
pub(crate) mod rescues;
pub(crate) mod restore;
