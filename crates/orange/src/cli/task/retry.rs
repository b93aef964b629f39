//! `orange task retry`.

use crate::cli::driving::{Target, driver, meant, print};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::config::Environment;
use crate::output::Output;

/// Try again.
///
/// Takes the edge that the workflow names under `verbs: retry`. Where none leads on from the
/// present status, what was given up is tried again: a start, a merge, a worktree that could not be
/// given back. Effects that a killed command or performer has left behind are performed instead.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// What to say with it.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let patience = &args.target.patience;
    let driver = driver(environment)?.gathering(patience.gathering());
    let task = meant(&driver, args.target.task.as_deref())?;
    let answer = driver.retry(&task, args.message.as_ref(), patience.waiting())?;
    print(answer, patience.json, output)
}
