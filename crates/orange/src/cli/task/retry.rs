//! `orange task retry`.

use orange_config::Environment;

use crate::cli::request::requests::{Target, print};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Retry what failed.
///
/// Repeats failed effects, such as a start, a merge or the release of a worktree. Also performs
/// effects whose process was killed. If nothing failed and no agent is working, takes the
/// transition that the workflow names under `verbs: retry`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Take the transition under `verbs: retry`, and send the agent this message.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wait_options = &args.target.wait_options;
    let driver = wait_options.driver(environment)?;
    let task = driver.callers.resolve_task(args.target.task.as_deref())?;
    let answer = driver.requests.retry(
        &task,
        args.message.as_ref(),
        wait_options.wait_policy(&driver),
    )?;
    print(answer, output)
}
