//! `orange job enable`.

use orange_config::Environment;

use super::print_job;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Enable a job.
///
/// Also continues a job that was paused because it failed too often. Times that passed meanwhile are
/// not made up for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let job = driver.requests.enable_job(&args.job)?;
    print_job(&job, "enabled", output)
}
