//! `orange task restart`.

use orange_config::Environment;
use orange_engine::input::RequestKind;
use orange_engine::role::Role;

use crate::cli::request::requests::RequestDraft;
use crate::cli::request::several::{Targets, ask_each};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Restart agents, running or not.
///
/// Stops the running agents of each task and starts them again in the same worktree, in their
/// conversation if the harness can resume it. An agent that is stopped or gone is started.
/// `orange task respawn` also starts agents that are gone, but never ends a running one.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    /// The agent's role: `worker`, `reviewer` or a role of the workflow [default: all agents that
    /// are running or stopped, else the missing one].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let role = args.role.as_deref().map(Role::from_name);
    let draft = RequestDraft::plain(RequestKind::Restart { role });
    ask_each(&args.targets, &draft, environment, output)
}
