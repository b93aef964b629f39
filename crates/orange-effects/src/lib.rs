//! Does: one folder per outside program, one file that starts programs.
//!
//! Nothing here decides or remembers. Whatever looks at the world answers with what it saw or with
//! the reason why it could not look, and the second is never taken for the first.

pub mod command;
pub mod git;
pub mod notice;
mod place;
pub mod private_file;
pub mod process;
pub mod run;
pub mod skill_file;
pub mod tmux;
pub mod version;
