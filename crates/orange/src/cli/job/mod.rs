//! `orange job`: work that starts by the clock.

pub(super) mod add;
pub(super) mod disable;
pub(super) mod enable;
pub(super) mod list;
pub(super) mod next;
pub(super) mod remove;
pub(super) mod run;

use clap::Subcommand;
use orange_config::Environment;
use orange_driver::{JobActivity, JobReport, JobRunOutcome};

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<JobReport>("orange.job/1");

/// Start work by the clock.
///
/// A job creates a task, or runs a command, at the times of its schedule, while `orange serve` or
/// a dashboard runs. Jobs are in `jobs.toml` in orange's home directory, which you may edit. Only
/// you can add, change or run jobs; agents cannot.
#[derive(Debug, Subcommand)]
pub enum Command {
    Add(Box<add::Args>),
    List(list::Args),
    Enable(enable::Args),
    Disable(disable::Args),
    Run(run::Args),
    Next(next::Args),
    Remove(remove::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Add(args) => add::run(args, environment, output),
            Command::List(args) => list::run(args, environment, output),
            Command::Enable(args) => enable::run(args, environment, output),
            Command::Disable(args) => disable::run(args, environment, output),
            Command::Run(args) => run::run(args, environment, output),
            Command::Next(args) => next::run(args, environment, output),
            Command::Remove(args) => remove::run(args, environment, output),
        }
    }
}

/// Prints a job and what happened to it.
fn print_job(job: &JobReport, what: &str, output: &mut Output) -> Result<Exit, Error> {
    if output.is_json() {
        return SHAPE.print(job, output);
    }
    let mut text = Text::new();
    let sentence = match job.state {
        JobActivity::Disabled => format!(": {what}"),
        JobActivity::Enabled | JobActivity::Paused => format!(": {what}; {}", when_next(job)),
    };
    let parts = [
        (Style::Bold, job.name.as_str()),
        (Style::Plain, sentence.as_str()),
    ];
    text.push_line(&parts, 4, output.answer_width());
    output.answer(&text)?;
    Ok(Exit::Ok)
}

fn when_next(job: &JobReport) -> String {
    match (job.state, job.next) {
        (JobActivity::Disabled, _) => String::from("it is disabled"),
        (JobActivity::Paused, _) => String::from("it is paused because it failed too often"),
        (JobActivity::Enabled, Some(next)) => format!("next at {}", local_time(next)),
        (JobActivity::Enabled, None) => String::from("it is never due again"),
    }
}

fn outcome_word(outcome: JobRunOutcome) -> &'static str {
    match outcome {
        JobRunOutcome::Active => "running",
        JobRunOutcome::Waiting => "waits for you",
        JobRunOutcome::Succeeded => "succeeded",
        JobRunOutcome::Failed => "failed",
        JobRunOutcome::Cancelled => "was cancelled",
    }
}
