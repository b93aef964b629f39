//! `orange task create`.

use std::path::PathBuf;

use orange_engine::names::{BranchName, HarnessName, ProjectName, Status};

use crate::cli::driving::{Patience, driver, print};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::config::{Environment, read_script};
use crate::driver::NewWork;
use crate::output::Output;

/// Create a task.
///
/// It begins where the workflow lets tasks begin, usually in a queue; `orange task spawn` starts
/// the work. The task keeps the workflow as it is now, whatever becomes of the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is to be done, in a sentence.
    #[arg(value_name = "SUMMARY", default_value = "")]
    pub summary: String,
    /// The project; the one this directory belongs to when left out.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// A file with what else should be known, or `-` for the standard input. Its headings are
    /// moved below `## Context` of TASK.md.
    #[arg(long, value_name = "FILE")]
    pub context: Option<PathBuf>,
    /// The branch; one named after the task when left out.
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The workflow; the project's when left out.
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The coding agent; the project's when left out.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// The coding agent that reviews; the project's, else the same as `--harness`.
    #[arg(long, value_name = "NAME")]
    pub review_harness: Option<String>,
    /// Where it begins; the first entry of the workflow that is open when left out.
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    #[command(flatten)]
    pub patience: Patience,
}

/// Creates it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let context = match &args.context {
        None => None,
        Some(path) => Some(
            read_script(path).map_err(|reason| Error::ContextUnreadable {
                name: path.display().to_string(),
                reason,
            })?,
        ),
    };
    let new = NewWork {
        project: args.project.as_deref().map(ProjectName::new),
        by: driver.identify()?.role,
        summary: args.summary.clone(),
        context,
        branch: args.branch.as_deref().map(BranchName::new),
        workflow: args.workflow.clone(),
        harness: args.harness.as_deref().map(HarnessName::new),
        review_harness: args.review_harness.as_deref().map(HarnessName::new),
        status: args.status.as_deref().map(Status::new),
    };
    print(
        driver.create(&new, args.patience.waiting())?,
        args.patience.json,
        output,
    )
}
