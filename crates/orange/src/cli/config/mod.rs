//! `orange config`: every setting and its source.

pub(super) mod show;

use clap::Subcommand;
use orange_config::Environment;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Show settings and where they come from.
#[derive(Debug, Subcommand)]
pub enum Command {
    Show(show::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Show(args) => show::run(args, environment, output),
        }
    }
}
