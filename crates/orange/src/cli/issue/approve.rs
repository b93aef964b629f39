//! `orange issue approve`.

use orange_config::Environment;
use orange_engine::names::ProjectName;

use super::{Decision, print_decision};
use crate::cli::request::issue_number::issue_number;
use crate::cli::request::requests::{WaitArgs, driver};
use crate::cli::task::create::{create, narrate_problems};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Create a task for an issue as it is now.
///
/// Records your consent to the present title and text of the issue, then creates its task and
/// starts the work, as `orange task create --issue` does. If the issue is edited later, that text
/// needs consent of its own.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of the issue.
    #[arg(value_name = "NUMBER", value_parser = issue_number)]
    pub number: u64,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Only record your consent; `orange serve` creates the task if `forge.issues.label` is set.
    #[arg(long)]
    pub no_start: bool,
    #[command(flatten)]
    pub wait_options: WaitArgs,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let number = args.number;
    let request = driver.requests.approve_issue(project.as_ref(), number)?;
    narrate_problems(&request, output);
    if args.no_start {
        let sentence = format!("approved issue #{number} as it is now");
        return print_decision(number, Decision::Approved, &sentence, output);
    }
    let (exit, _) = create(&driver, &request.new, true, &args.wait_options, output)?;
    Ok(exit)
}
