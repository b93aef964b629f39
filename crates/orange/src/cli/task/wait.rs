//! `orange task wait`.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::{Awaited, Until};
use orange_engine::Task;
use orange_engine::names::Status;
use serde::Serialize;

use crate::cli::request::attending::{Manner, attend};
use crate::cli::request::driving::TaskArg;
use crate::cli::request::interrupted::Waited;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.wait/1");

/// Wait until a task is somewhere.
///
/// Exits with 0 when it is there, with 5 when the time is over, and with 3 when it has ended
/// somewhere else. It only looks: an agent's death is judged by a command that changes the task.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// Where: one status or several, `terminal` for any end, `human` for wherever a person is
    /// asked.
    #[arg(
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        required = true,
        num_args = 1
    )]
    pub until: Vec<String>,
    /// Wait at most this many seconds; without it, for ever.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    outcome: &'static str,
    task: &'a Task,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let wanted: Vec<Until> = args.until.iter().map(|word| until(word)).collect();
    let bound = args.timeout.map(Duration::from_secs);
    let manner = Manner::waiting(output);
    let (awaited, signal) = attend(driver.context.meanwhile(), manner, || {
        driver.views.await_status(&task, &wanted, bound)
    });
    if let (Ok(Awaited::NotYet(_)), Some(signal)) = (&awaited, signal) {
        return Err(signal.during(&Waited::Status(task)));
    }
    let (outcome, task, told, exit) = match awaited? {
        Awaited::Reached(task) => ("reached", task, "in", Exit::Ok),
        Awaited::Ended(task) => ("ended", task, "has ended in", Exit::Refused),
        Awaited::NotYet(task) => ("not_yet", task, "still in", Exit::Busy),
    };
    if output.is_json() {
        let body = Body {
            outcome,
            task: &task,
        };
        SHAPE.print(&body, output)?;
        return Ok(exit);
    }
    let mut text = Text::new();
    text.push(Style::Bold, task.id.as_str());
    text.push(Style::Plain, &format!(": {told} `{}`", task.status));
    text.end_line();
    output.answer(&text)?;
    Ok(exit)
}

fn until(word: &str) -> Until {
    match word {
        "terminal" => Until::Terminal,
        "human" => Until::Human,
        status => Until::Status(Status::new(status)),
    }
}
