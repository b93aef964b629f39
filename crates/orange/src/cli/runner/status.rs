//! `orange runner status`.

use std::fmt::Write as _;

use orange_config::Environment;

use super::{answer, print};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Show what this machine does for its fleet.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    if output.is_json() {
        return print(&driver, "", output);
    }
    let status = driver.runner_status()?;
    let state = match (status.is_running, status.is_draining) {
        (false, _) => "not running; start `orange runner run`",
        (true, true) => "draining",
        (true, false) => "running",
    };
    let mut text = format!(
        "runner {} of {}: {state}, agents {}",
        status.runner, status.server, status.lease
    );
    for task in &status.tasks {
        let halted = if task.is_halted {
            ", stopped: it disagrees with the server's log"
        } else {
            ""
        };
        let _ = write!(
            text,
            "\n  {}: the server has {} of {} events{halted}",
            task.task, task.acknowledged, task.version
        );
    }
    answer(&text, output)
}
