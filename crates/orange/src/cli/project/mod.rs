//! `orange project`: the repositories that tasks are done in.

pub(super) mod add;

use clap::Subcommand;

use super::error::Error;
use super::exit::Exit;
use crate::config::Environment;
use crate::output::Output;

/// Register the repositories that tasks are done in.
#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::Args),
}

impl Command {
    /// Whether a program reads the answer.
    pub fn is_json(&self) -> bool {
        match self {
            Command::Add(args) => args.json,
        }
    }

    /// Runs it.
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Add(args) => add::run(args, environment, output),
        }
    }
}
