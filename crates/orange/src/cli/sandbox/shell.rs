//! `orange sandbox shell`.

use std::ffi::OsString;

use orange_config::Environment;

use crate::cli::hidden::exec_run::end_as;
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit};

/// Open a shell in the sandbox of a task's agent.
///
/// It is the sandbox of the last agent that had one: its worktree, repository, home and network.
/// What you commit there counts as the agent's. Only calls of `orange` are refused, because the
/// shell has no role.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: TaskArg,
    /// Run this instead of a shell.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let (driver, task) = args.target.find(environment)?;
    let exit = driver.workspaces.run_in_sandbox_of(&task, &args.command)?;
    Ok(end_as(exit))
}
