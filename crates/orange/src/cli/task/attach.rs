//! `orange task attach`.

use orange_config::Environment;
use orange_engine::role::Role;

use crate::cli::request::driving::driver;
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Look at an agent in its terminal.
///
/// Leave it with the detach key of tmux, usually `Ctrl-b d`; the agent goes on. From inside the
/// tmux of orange the terminal is turned to the agent; inside another tmux it is shown within that
/// one, and is left with `Ctrl-b Ctrl-b d`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Which agent; the one that the present status expects when left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = driver.callers.meant(args.task.as_deref())?;
    let role = args.role.as_deref().map(Role::named);
    let showing = driver.agents.attach(&task, role.as_ref())?;
    if showing.is_nested {
        let hint = "this terminal is inside another tmux; leave the agent with the prefix pressed \
                    twice, usually `Ctrl-b Ctrl-b d`";
        narrate_hint(hint, output);
    }
    Err(Error::not_started(showing.begin()))
}
