//! `orange sandbox-init`: process 1 of a sandbox.

use crate::cli::{Error, Exit};

/// Start the agent of a sandbox, and wait for it.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> Result<Exit, Error> {
    orange_driver::run_init().map_err(Error::not_started)?;
    Ok(Exit::Ok)
}
