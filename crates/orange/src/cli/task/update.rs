//! `orange task update`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::names::{BranchName, Status};

use crate::cli::request::driving::{Target, Wanted, ask, driver, named_commit};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Change status, branch or workflow.
///
/// The summary and the priority, too. Several at once are changed together or, if the status is
/// refused, not at all.
///
/// A status is reached only by an edge of the workflow whose gates hold; a refusal says what is
/// missing. TASK.md is read first, so write what the gate asks for before you ask.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["status", "branch", "summary", "priority", "workflow"]))]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Where the task should go.
    #[arg(long, value_name = "STATUS", conflicts_with = "workflow")]
    pub status: Option<String>,
    /// Rename the branch; without a value, take over the name of the worktree's branch.
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, default_missing_value = "")]
    pub branch: Option<String>,
    /// What is to be done, in a sentence.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub summary: Option<String>,
    /// The larger, the sooner it is started.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// The workflow it goes on by, if `orange workflow check` finds no error in it and it has the
    /// present status with the same meaning.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["branch", "summary", "priority"])]
    pub workflow: Option<String>,
    /// The commit your verdict is about, when the branch has moved since the handoff.
    #[arg(long, value_name = "COMMIT", requires = "status")]
    pub head: Option<String>,
    /// What to say with it.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let to = args.status.as_deref().map(Status::new);
    let amends = args.summary.is_some() || args.branch.is_some() || args.priority.is_some();
    let request = match (to, &args.workflow) {
        (Some(to), _) if !amends => Ask::Move { to },
        (_, Some(workflow)) => driver(environment)?.context.adopting(workflow)?,
        (to, None) => Ask::Amend {
            summary: args.summary.clone(),
            branch: branch(args, environment)?,
            priority: args.priority,
            to,
        },
    };
    let wanted = Wanted {
        ask: request,
        message: args.message.clone(),
        head: named_commit(&args.target, args.head.as_deref(), environment)?,
    };
    ask(&args.target, wanted, environment, output)
}

fn branch(args: &Args, environment: &Environment) -> Result<Option<BranchName>, Error> {
    Ok(match args.branch.as_deref() {
        None => None,
        Some("") => {
            let driver = driver(environment)?;
            let task = driver.callers.meant(args.target.task.as_deref())?;
            Some(driver.workspaces.branch_of_worktree(&task)?)
        }
        Some(named) => Some(BranchName::new(named)),
    })
}
