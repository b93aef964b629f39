//! `orange task edit`.

use orange_config::Environment;
use orange_driver::Tool;

use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit};

/// Open a task's worktree in your editor.
///
/// Runs `open.editor` of the settings, or else `$VISUAL` or `$EDITOR`, with the worktree as its
/// argument.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: TaskArg,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let (driver, task) = args.target.find(environment)?;
    driver.workspaces.open_worktree(&task, Tool::Editor)?;
    Ok(Exit::Ok)
}
