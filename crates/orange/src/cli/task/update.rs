//! `orange task update`.

use orange_config::Environment;
use orange_engine::input::RequestKind;
use orange_engine::names::{BranchName, Status};

use crate::cli::request::requests::{
    Extras, RequestDraft, Seen, Target, driver, print_with, request_with_confirmation, resolve_head,
};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Change status, branch or workflow.
///
/// Also changes the summary and the priority. Several changes are made together; if the status is
/// refused, none is made.
///
/// A status is reached only by a transition of the workflow whose gates pass; a refusal lists what
/// is missing. TASK.md is read first, so write what the gates require before you run this.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["status", "branch", "summary", "priority", "workflow"]))]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// The status to move to.
    #[arg(long, value_name = "STATUS", conflicts_with = "workflow")]
    pub status: Option<String>,
    /// Rename the branch; without a value, take the name of the branch in the worktree.
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, default_missing_value = "")]
    pub branch: Option<String>,
    /// What to do, in one sentence.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub summary: Option<String>,
    /// Tasks with a higher number start sooner.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// Switch to this workflow; it must pass `orange workflow check` and have the task's current
    /// status, with the same `kind`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["branch", "summary", "priority"])]
    pub workflow: Option<String>,
    /// For a review verdict: the commit you reviewed, if the branch has new commits since the
    /// handoff.
    #[arg(long, value_name = "COMMIT", requires = "status")]
    pub head: Option<String>,
    /// A message for the agent that continues with the task.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    #[command(flatten)]
    pub seen: Seen,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let to = args.status.as_deref().map(Status::new);
    let amends = args.summary.is_some() || args.branch.is_some() || args.priority.is_some();
    let request = match (to, &args.workflow) {
        (Some(to), _) if !amends => RequestKind::Move { to },
        (_, Some(workflow)) => {
            let driver = driver(environment)?;
            let task = driver.callers.resolve_task(args.target.task.as_deref())?;
            driver.context.adoption_request(&task, workflow)?
        }
        (to, None) => RequestKind::Amend {
            summary: args.summary.clone(),
            branch: branch(args, environment)?,
            priority: args.priority,
            to,
        },
    };
    let draft = RequestDraft {
        kind: request,
        message: args.message.clone(),
        head: resolve_head(&args.target, args.head.as_deref(), environment)?,
        if_version: args.seen.if_version,
    };
    let answer = request_with_confirmation(&args.target, draft, environment, output)?;
    let workflow = args.workflow.as_ref();
    let already = workflow.map(|it| format!("already has the workflow `{it}`"));
    let extras = Extras {
        already: already.as_deref(),
        ..Extras::default()
    };
    print_with(answer, &extras, output)
}

fn branch(args: &Args, environment: &Environment) -> Result<Option<BranchName>, Error> {
    Ok(match args.branch.as_deref() {
        None => None,
        Some("") => {
            let driver = driver(environment)?;
            let task = driver.callers.resolve_task(args.target.task.as_deref())?;
            Some(driver.workspaces.branch_of_worktree(&task)?)
        }
        Some(named) => Some(BranchName::new(named)),
    })
}
