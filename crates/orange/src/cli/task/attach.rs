//! `orange task attach`.

use orange_engine::role::Role;

use crate::cli::driving::{driver, meant};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::config::Environment;

/// Look at an agent in its terminal.
///
/// Leave it with the detach key of tmux, usually `Ctrl-b d`; the agent goes on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Which agent; the one that the present status expects when left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

/// Becomes the tmux client.
pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = meant(&driver, args.task.as_deref())?;
    let role = args.role.as_deref().map(Role::named);
    let error = driver.attach(&task, role.as_ref())?;
    Err(Error::NotStarted(error.to_string()))
}
