//! `orange issue ignore`.

use orange_config::Environment;
use orange_engine::names::ProjectName;

use super::{Decision, print_decision};
use crate::cli::request::issue_number::issue_number;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Keep an issue from becoming a task.
///
/// Counts for the present title and text of the issue, whatever labels it has. `orange issue
/// approve` changes your mind.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of the issue.
    #[arg(value_name = "NUMBER", value_parser = issue_number)]
    pub number: u64,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let title = driver
        .requests
        .ignore_issue(project.as_ref(), args.number)?;
    let sentence = format!("ignored issue #{} as it is now: {title}", args.number);
    print_decision(args.number, Decision::Ignored, &sentence, output)
}
