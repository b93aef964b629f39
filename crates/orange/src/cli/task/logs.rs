//! `orange task logs`.

use std::time::Duration;

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{Driver, RunOutput};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde::Serialize;

use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// Poll interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.logs/1");

/// Show an agent's output.
///
/// Shows the output of the latest run: the agent's terminal with its scrollback, or the copy saved
/// when it closed. A headless run prints into a file; its last message, or the reason why it
/// failed, comes after the output.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// The agent's role: `worker`, `reviewer` or a role of the workflow [default: the one that is
    /// running, else the one that was started last].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Print new output until the agent exits. This works badly for an agent that redraws its
    /// screen; use `orange task attach` for it.
    #[arg(long, short, conflicts_with = "json")]
    pub follow: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    #[serde(flatten)]
    run_output: &'a RunOutput,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let role = args.role.as_deref().map(Role::from_name);
    let run_output = driver.agents.logs(&task, role.as_ref())?;
    if output.is_json() {
        let body = Body {
            task: task.as_str(),
            run_output: &run_output,
        };
        return SHAPE.print(&body, output);
    }
    if !args.follow {
        print(&whole_lines(&run_output.text, true), output)?;
        return Ok(Exit::Ok);
    }
    let (result, signal) =
        run_with_progress(driver.context.progress(), WaitMode::for_printing(), || {
            follow(&driver, &task, run_output, output)
        });
    match (result?, signal) {
        (FollowEnd::Interrupted, Some(signal)) => {
            Err(signal.interruption_error(&WaitSubject::Agent(task)))
        }
        _ => Ok(Exit::Ok),
    }
}

enum FollowEnd {
    AgentExited,
    Interrupted,
}

fn follow(
    driver: &Driver,
    task: &TaskId,
    mut run_output: RunOutput,
    output: &mut Output,
) -> Result<FollowEnd, Error> {
    let mut printed: Vec<String> = Vec::new();
    loop {
        let lines = whole_lines(&run_output.text, !run_output.is_running);
        let printed_count = overlap(&printed, &lines);
        print(lines.get(printed_count..).unwrap_or_default(), output)?;
        printed = lines;
        if !run_output.is_running {
            return Ok(FollowEnd::AgentExited);
        }
        if driver.context.progress().is_over() {
            return Ok(FollowEnd::Interrupted);
        }
        clock::sleep_until(clock::after(POLL_INTERVAL), POLL_INTERVAL);
        run_output = driver.agents.logs_of(task, &run_output.run)?;
    }
}

/// The lines of a text. If the text is not complete, leaves out the last line, because the agent
/// may still be writing it.
fn whole_lines(text: &str, is_complete: bool) -> Vec<String> {
    let mut lines: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
    if !is_complete {
        lines.pop();
    }
    lines
}

/// How many of the new lines were already printed: their longest overlap with the old ones.
fn overlap(old: &[String], new: &[String]) -> usize {
    let longest = old.len().min(new.len());
    let is_common = |count: &usize| old.ends_with(new.get(..*count).unwrap_or_default());
    (0..=longest).rev().find(is_common).unwrap_or(0)
}

fn print(lines: &[String], output: &mut Output) -> Result<(), Error> {
    let mut text = Text::new();
    for line in lines {
        text.push(Style::Plain, line);
        text.end_line();
    }
    output.answer(&text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn printed_lines_are_not_repeated() {
        assert_eq!(overlap(&[], &lines("a b")), 0);
        assert_eq!(overlap(&lines("a b"), &lines("a b c")), 2);
        assert_eq!(
            overlap(&lines("a b c"), &lines("b c d")),
            2,
            "a scrolled off"
        );
        assert_eq!(overlap(&lines("a b"), &lines("x y")), 0, "a cleared screen");
        assert_eq!(overlap(&lines("a b"), &lines("")), 0);
    }

    #[test]
    fn an_unfinished_line_waits() {
        assert_eq!(whole_lines("a\nb\n\n", false), ["a"]);
        assert_eq!(whole_lines("a\nb\n\n", true), ["a", "b"]);
    }
}
