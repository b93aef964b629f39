//! `orange sandbox-confine`: gives up rights, then becomes the agent.

use orange_config::Environment;

use crate::cli::{Error, Exit};

/// Become the agent of a sandbox.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, environment: &Environment) -> Result<Exit, Error> {
    match orange_driver::confine(environment) {
        Some(error) => Err(Error::not_started(error)),
        // `orange exec-run` prints the error.
        None => Ok(Exit::ExternalFailed),
    }
}
