//! Agents that write while we do.
