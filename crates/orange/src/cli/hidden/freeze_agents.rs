//! `orange freeze-agents`: freezes agents while a runner has no lease.

use orange_config::Environment;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};

/// Freeze agents while the server of the fleet may give their tasks to others.
///
/// orange starts this itself, beside `orange runner run`; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(environment: &Environment) -> Result<Exit, Error> {
    driver(environment)?.freeze_by_lease()?;
    Ok(Exit::Ok)
}
