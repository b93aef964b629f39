//! `orange perform`, `orange gather`, `orange run-job`: work in the background.

use orange_config::{Environment, LogLevel};
use orange_driver::{Context, Driver, DriverError};
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde_json::json;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};

/// Perform the planned effects of a task, until none is left.
///
/// orange starts this itself, outside every agent's process tree; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Perform {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Wait until this process has ended.
    #[arg(long, value_name = "PID")]
    pub after: Option<u32>,
}

/// Run the commands that the gates of a task wait for.
///
/// orange starts this itself, outside every agent's process tree; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Gather {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: String,
}

/// Run the command of a job.
///
/// orange starts this itself, outside every agent's process tree; you do not need it.
#[derive(Debug, clap::Args)]
pub struct RunJob {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
    /// The instant of its schedule.
    #[arg(value_name = "TIME", value_parser = Timestamp::parse)]
    pub instant: Timestamp,
}

pub fn perform(args: &Perform, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.context.refuse_runs("perform planned effects")?;
    if let Some(pid) = args.after {
        Context::await_end_of(pid);
    }
    let task = TaskId::new(&args.task);
    let result = driver.performer.perform_until_done(&task).map(drop);
    log_failure(result, "performing failed", &driver, &task)
}

pub fn gather(args: &Gather, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.context.refuse_runs("run the commands of gates")?;
    let task = TaskId::new(&args.task);
    let result = driver.steps.gather_requested(&task).map(drop);
    log_failure(result, "running a gate's command failed", &driver, &task)
}

pub fn run_job(args: &RunJob, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.context.refuse_runs("run the command of a job")?;
    let result = driver.requests.run_job_command(&args.job, args.instant);
    if let Err(error) = &result {
        let more = json!({ "job": args.job, "error": error.to_string() });
        driver
            .context
            .log_for_all(LogLevel::Error, "running a job failed", more);
    }
    result?;
    Ok(Exit::Ok)
}

/// Logs a failure, since no caller reads this process's output. If the log cannot be written, only
/// the exit code remains.
fn log_failure(
    result: Result<(), DriverError>,
    what: &'static str,
    driver: &Driver,
    task: &TaskId,
) -> Result<Exit, Error> {
    if let Err(error) = result {
        let more = json!({ "error": error.to_string() });
        driver.context.log(LogLevel::Error, task, what, more);
        return Err(error.into());
    }
    Ok(Exit::Ok)
}
