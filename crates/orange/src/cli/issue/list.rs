//! `orange issue list`.

use orange_config::Environment;
use orange_driver::IssueReport;
use orange_engine::names::ProjectName;
use serde::Serialize;

use super::verdict_text;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.issue.list/1");

/// List issues that can become tasks, and why.
///
/// Asks GitHub what changed, and shows each open issue that has the label of
/// `forge.issues.label`, a task, or a decision of yours; without that setting, all open issues.
/// Starts nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    issues: Vec<IssueReport>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let issues = driver.requests.list_issues(project.as_ref())?;
    if output.is_json() {
        return SHAPE.print(&Body { issues }, output);
    }
    let mut text = Text::new();
    let width = output.answer_width();
    for issue in &issues {
        let number = format!("#{}", issue.number);
        let title = format!(" {}", issue.title);
        let parts = [
            (Style::Bold, number.as_str()),
            (Style::Plain, title.as_str()),
        ];
        text.push_line(&parts, 4, width);
        let verdict = format!("    {}", verdict_text(&issue.verdict));
        text.push_line(&[(Style::Plain, verdict.as_str())], 4, width);
    }
    if issues.is_empty() {
        text.push(Style::Plain, "no issue can become a task");
        text.end_line();
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}
