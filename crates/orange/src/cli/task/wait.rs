//! `orange task wait`.

use std::time::Duration;

use orange_config::Environment;
use orange_driver::{WaitResult, WaitTarget};
use orange_engine::Task;
use orange_engine::names::Status;
use serde::Serialize;

use crate::cli::answer::words::parse_seconds;
use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.wait/1");

/// Wait until a task reaches a status.
///
/// Exits with 0 when the task reaches the status, with 5 on a timeout, and with 3 if the task
/// finishes in another status. `wait` itself does not react when an agent exits: if neither `orange
/// serve` nor a dashboard is running, it may wait forever.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// The status, or several with commas; `terminal` for any final one, `human` for
    /// whenever it is your turn.
    #[arg(
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        required = true,
        num_args = 1
    )]
    pub until: Vec<String>,
    /// Wait at most this many seconds [default: no limit].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<u64>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    outcome: &'static str,
    task: &'a Task,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let targets: Vec<WaitTarget> = args.until.iter().map(|word| until(word)).collect();
    let timeout = args.timeout.map(Duration::from_secs);
    let mode = WaitMode::for_wait(output);
    let (result, signal) = run_with_progress(driver.context.progress(), mode, || {
        driver.views.await_status(&task, &targets, timeout)
    });
    if let (Ok(WaitResult::NotYet(_)), Some(signal)) = (&result, signal) {
        return Err(signal.interruption_error(&WaitSubject::Status(task)));
    }
    let (outcome, task, phrase, exit) = match result? {
        WaitResult::Reached(task) => ("reached", task, "in", Exit::Ok),
        WaitResult::Ended(task) => ("ended", task, "finished in", Exit::Refused),
        WaitResult::NotYet(task) => ("timeout", task, "still in", Exit::Busy),
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
    let reason = task.attention.first().filter(|_| exit == Exit::Ok);
    let reason = reason.map_or(String::new(), |it| format!("; it needs you: {it}"));
    let message = format!(": {phrase} `{}`{reason}", task.status);
    let line = [(Style::Bold, task.id.as_str()), (Style::Plain, &message)];
    text.push_line(&line, 4, output.answer_width());
    output.answer(&text)?;
    Ok(exit)
}

fn until(word: &str) -> WaitTarget {
    match word {
        "terminal" => WaitTarget::Terminal,
        "human" => WaitTarget::Human,
        status => WaitTarget::Status(Status::new(status)),
    }
}
