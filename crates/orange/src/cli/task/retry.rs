//! `orange task retry`.

use orange_config::Environment;

use crate::cli::request::driving::{Target, driver, print};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Try again.
///
/// Repeats what failed: a start, a merge, a worktree that could not be released. Effects that
/// nothing performs, because the process that did was killed, are performed. Where nothing failed,
/// takes the edge that the workflow names under `verbs: retry`; not while an agent is at the work.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Take the workflow's edge and pass this text on.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let patience = &args.target.patience;
    let driver = driver(environment)?.gathering(patience.gathering());
    let task = driver.callers.meant(args.target.task.as_deref())?;
    let answer = driver
        .requests
        .retry(&task, args.message.as_ref(), patience.waiting())?;
    print(answer, output)
}
