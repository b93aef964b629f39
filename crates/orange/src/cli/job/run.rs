//! `orange job run`.

use orange_config::Environment;

use super::print_job;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Run a job now.
///
/// Creates its task, or runs its command, whatever the schedule says, and also if the job is
/// disabled or an earlier run has not ended.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let job = driver.requests.run_job(&args.job)?;
    let run = job.runs.first();
    let what = match run.and_then(|it| it.task.as_ref()) {
        Some(task) => format!("created task `{task}`"),
        None => match run.and_then(|it| it.detail.as_deref()) {
            Some(detail) => format!("failed: {detail}"),
            None => String::from("started its command"),
        },
    };
    print_job(&job, &what, output)
}
