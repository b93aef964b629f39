//! `orange issue show`.

use orange_config::Environment;
use orange_driver::{IssueReport, IssueText};
use orange_engine::names::ProjectName;
use serde::Serialize;

use super::verdict_text;
use crate::cli::request::issue_number::issue_number;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.issue.show/1");

/// Show an issue as it was written, and whether it starts.
///
/// The text is shown in its source form, with comments that GitHub hides, and with invisible
/// characters written out as `\u{…}`. Agents do not get these parts.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of the issue.
    #[arg(value_name = "NUMBER", value_parser = issue_number)]
    pub number: u64,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    issue: IssueReport,
    /// What its author wrote.
    text: IssueText,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let (issue, written) = driver.requests.show_issue(project.as_ref(), args.number)?;
    if output.is_json() {
        let body = Body {
            issue,
            text: written,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    let width = output.answer_width();
    let mut line = |name: &str, value: &str| {
        let name = format!("{name:<10}");
        let parts = [(Style::Bold, name.as_str()), (Style::Plain, value)];
        text.push_line(&parts, name.len(), width);
    };
    line("issue", &format!("#{} {}", issue.number, issue.url));
    line("state", if issue.is_open { "open" } else { "closed" });
    let author = written.author.as_deref().unwrap_or("a deleted account");
    line("author", author);
    if !issue.labels.is_empty() {
        line("labels", &issue.labels.join(", "));
    }
    line("task", &verdict_text(&issue.verdict));
    for problem in &written.label_problems {
        line("note", problem);
    }
    line("title", &written.title);
    text.end_line();
    for body_line in written.body.lines() {
        text.push_line(&[(Style::Plain, body_line)], 0, width);
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}
