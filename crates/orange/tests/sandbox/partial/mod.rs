//! The level without namespaces.

mod files;
mod reach;
