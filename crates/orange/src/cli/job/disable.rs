//! `orange job disable`.

use orange_config::Environment;

use super::print_job;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Disable a job.
///
/// Its tasks go on. `orange job enable` enables it again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let job = driver.requests.disable_job(&args.job)?;
    print_job(&job, "disabled", output)
}
