//! Performs effects: git, tmux, processes, files, notifications, the forge, starting programs.
//!
//! Nothing here decides or keeps state. A function that inspects the world returns either what it
//! found or why the inspection failed; a failed inspection never counts as an observation.

pub mod base64;
pub mod chat;
pub mod command;
pub mod disk_usage;
pub mod fleet;
pub mod folder_watch;
pub mod forge;
pub mod git;
pub mod mcp_entry;
pub mod notice;
pub mod own_file;
pub mod private_file;
pub mod process;
pub mod run;
mod safe_directory;
pub mod sandbox;
pub mod skill_file;
pub mod tmux;
pub mod transcript;
pub mod version;
