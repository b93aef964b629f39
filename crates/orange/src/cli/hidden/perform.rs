//! `orange perform`: brings about what was planned for a task.

use orange_config::{Environment, LogLevel};
use orange_engine::names::TaskId;
use serde_json::json;

use crate::cli::request::driving::driver;
use crate::cli::{Error, Exit};

/// Perform what was planned for a task, until nothing is left.
///
/// orange starts this for itself, outside every agent's process tree; nobody else needs it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: String,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.refuse_runs("perform what was planned")?;
    let task = TaskId::new(&args.task);
    if let Err(error) = driver.perform_to_the_end(&task) {
        // Nobody listens to this process; a log that cannot be written leaves only its exit code.
        let more = json!({ "error": error.to_string() });
        driver.log(LogLevel::Error, &task, "performing failed", more);
        return Err(error.into());
    }
    Ok(Exit::Ok)
}
