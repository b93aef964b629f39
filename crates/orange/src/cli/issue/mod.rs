//! `orange issue`: issues on GitHub that can become tasks.

pub(super) mod approve;
pub(super) mod ignore;
pub(super) mod list;
pub(super) mod show;

use clap::Subcommand;
use orange_config::Environment;
use orange_driver::{IssueOutcome, IssueVerdict};
use serde::Serialize;

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// See which issues become tasks, and decide about them.
///
/// An issue becomes a task when you create one for it, or when `orange serve` finds the label of
/// `forge.issues.label` on it, set by an account that may write to the repository, for exactly the
/// text that the issue has now. Only you can use these commands; agents cannot.
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Approve(approve::Args),
    Ignore(ignore::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::List(args) => list::run(args, environment, output),
            Command::Show(args) => show::run(args, environment, output),
            Command::Approve(args) => approve::run(args, environment, output),
            Command::Ignore(args) => ignore::run(args, environment, output),
        }
    }
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.issue.decision/1");

/// A decision about an issue.
#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// The number of the issue.
    number: u64,
    /// What was decided about its present text.
    decision: Decision,
}

#[derive(Clone, Copy, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "IssueDecision")]
enum Decision {
    Approved,
    Ignored,
}

fn print_decision(
    number: u64,
    decision: Decision,
    sentence: &str,
    output: &mut Output,
) -> Result<Exit, Error> {
    if output.is_json() {
        return SHAPE.print(&Body { number, decision }, output);
    }
    let mut text = Text::new();
    let width = output.answer_width();
    text.push_line(&[(Style::Plain, sentence)], 4, width);
    output.answer(&text)?;
    Ok(Exit::Ok)
}

/// The verdict about an issue in plain words.
fn verdict_text(verdict: &IssueVerdict) -> String {
    let reason = &verdict.reason;
    match verdict.outcome {
        IssueOutcome::Consent => format!("ready: {reason}"),
        IssueOutcome::Started => reason.clone(),
        IssueOutcome::Refused => format!("not started: {reason}"),
        IssueOutcome::Unknown => format!("not started yet: {reason}"),
        IssueOutcome::Failed => format!("no task could be created: {reason}"),
    }
}
