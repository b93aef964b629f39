//! `orange harness`: the coding agents and whether they are usable.

pub(super) mod list;
pub(super) mod unpark;

use clap::Subcommand;
use orange_config::Environment;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// List and unpark coding agents.
///
/// A harness whose agent runs out of quota, or is not logged in, is parked: nothing is started on
/// it, and starts wait. The harness is unparked automatically when its quota is available again;
/// after you log in, run `orange harness unpark`.
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Unpark(unpark::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::List(_) => list::run(environment, output),
            Command::Unpark(args) => unpark::run(args, environment, output),
        }
    }
}
