//! `orange task shell`.

use orange_config::Environment;
use orange_driver::Tool;

use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit};

/// Open a shell in a task's worktree.
///
/// Runs `open.shell` of the settings, or else `$SHELL`. In that shell, `orange` commands count as
/// the worker's: they act on this task, and only the worker's steps are allowed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: TaskArg,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let (driver, task) = args.target.find(environment)?;
    driver.workspaces.open_worktree(&task, Tool::Shell)?;
    Ok(Exit::Ok)
}
