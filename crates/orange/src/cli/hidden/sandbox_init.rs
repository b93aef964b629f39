//! `orange sandbox-init`: process 1 of a sandbox.

use orange_config::Environment;

use crate::cli::{Error, Exit};

/// Start the agent of a sandbox, and wait for it.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let code = orange_driver::run_init(environment).map_err(Error::not_started)?;
    Ok(if code == 0 {
        Exit::Ok
    } else {
        Exit::Other(code)
    })
}
