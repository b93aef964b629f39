//! `orange chat`.

use orange_config::Environment;
use orange_engine::names::HarnessName;

use super::request::requests::driver;
use super::{Error, Exit};

/// Talk to an agent about your tasks.
///
/// Starts a coding agent in this terminal. It reads and explains everything, creates tasks and
/// writes to their agents. Merging, cancelling, approving and settings stay with you: it tells you
/// the command. It has no worktree, and its permissions are reduced.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The coding agent [default: the project's].
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// The model [default: the coding agent's].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let harness = args.harness.as_deref().map(HarnessName::new);
    driver.admin.chat(harness, args.model.as_deref())?;
    Ok(Exit::Ok)
}
