//! `orange status-line`: the status of a task, for tmux.

use orange_config::Environment;
use orange_engine::names::TaskId;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Print the status of a task.
///
/// orange's tmux server calls this while a client shows a session; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(value_name = "TASK")]
    pub task: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let status = driver.views.status(&TaskId::new(&args.task))?;
    output.answer_exactly(format!("{status}\n").as_bytes())?;
    Ok(Exit::Ok)
}
