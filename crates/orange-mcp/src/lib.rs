//! The MCP server: a table of tools, each a command.
//!
//! It knows no task. It turns the arguments of a tool into the words of a command, has that run,
//! and passes on what the command answers.

mod answer;
mod arguments;
mod backend;
mod limits;
mod server;
pub mod tools;

pub use answer::LEFT_OUT;
pub use backend::{Audience, Backend, Reply};
pub use server::{ServeError, serve};
