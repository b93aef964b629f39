//! `orange forge`: GitHub, as orange sees it.

pub(super) mod look;
pub(super) mod status;

use clap::Subcommand;
use orange_config::Environment;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Check the connection to GitHub, and look at pull requests.
///
/// `orange serve` looks at the pull requests of your tasks by itself; without it, `orange forge
/// look` does so once. The token comes from `forge.token_command`, `GH_TOKEN` or `gh auth token`;
/// agents never get it.
#[derive(Debug, Subcommand)]
pub enum Command {
    Status(status::Args),
    Look(look::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Status(args) => status::run(args, environment, output),
            Command::Look(args) => look::run(args, environment, output),
        }
    }
}
