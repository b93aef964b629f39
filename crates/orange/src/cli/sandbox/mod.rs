//! `orange sandbox`: what surrounds an agent.

pub(super) mod explain;
pub(super) mod port;
pub(super) mod shell;
pub(super) mod r#try;

use clap::Subcommand;
use orange_config::Environment;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Look at and use the sandboxes of agents.
///
/// A sandbox keeps an agent away from your files, your programs and orange itself. `sandbox.mode`
/// and `orange project update --sandbox-mode` decide about it.
#[derive(Debug, Subcommand)]
pub enum Command {
    Explain(explain::Args),
    Shell(shell::Args),
    Port(port::Args),
    Try(r#try::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Explain(args) => explain::run(args, environment, output),
            Command::Shell(args) => shell::run(args, environment),
            Command::Port(args) => port::run(args, environment, output),
            Command::Try(args) => r#try::run(args, environment, output),
        }
    }
}
