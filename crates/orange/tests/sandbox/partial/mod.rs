//! The level without namespaces.

mod commands;
mod files;
mod outsiders;
mod reach;
mod repository;
mod stories;
