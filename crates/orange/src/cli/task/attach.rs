//! `orange task attach`.

use orange_config::Environment;
use orange_engine::role::Role;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Attach to an agent's terminal.
///
/// To detach, press `F12` or tmux's own keys, usually `Ctrl-b d`; the agent keeps running. If you
/// are already inside orange's own tmux, your terminal switches to the agent. Inside any other
/// tmux, the agent is shown within it; `F12` detaches there too.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id, the start of its id, or its branch [default: the task of this session or
    /// worktree].
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// The agent's role [default: the one that the current status expects].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = driver.callers.resolve_task(args.task.as_deref())?;
    let role = args.role.as_deref().map(Role::from_name);
    let attachment = driver.agents.attach(&task, role.as_ref())?;
    if !attachment.is_switch && !output.is_interactive() {
        let message = format!("cannot attach to task `{task}`: this is not a terminal");
        return Err(Error::new(Exit::Refused, "no-terminal", message)
            .hint(format!("run `orange attach {task}` in a terminal"))
            .hint(format!(
                "to read the agent's output without one, run `orange logs {task}`"
            )));
    }
    if attachment.is_nested {
        let hint = "this terminal is inside another tmux; press `F12` to detach from the agent";
        narrate_hint(hint, output);
    }
    Err(Error::not_started(attachment.exec()))
}
