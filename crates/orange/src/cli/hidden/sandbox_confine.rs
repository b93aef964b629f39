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
        // The codes that a shell has for this.
        Some(failure) => {
            let code = if failure.is_missing { 127 } else { 126 };
            let exit = Exit::Other(code);
            Err(Error::new(exit, "program-not-started", failure.message))
        }
        // `orange exec-run` prints the error.
        None => Ok(Exit::ExternalFailed),
    }
}
