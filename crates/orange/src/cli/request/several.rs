//! Runs one command for several tasks and reports on all of them.

use std::fmt::Write as _;

use orange_config::Environment;
use orange_driver::{Answer, Driver};
use orange_engine::names::{Status, TaskId};
use serde::Serialize;

use super::outcome::Outcome;
use super::requests::{
    RequestDraft, Target, WaitArgs, ask, request_with_confirmation, require_outcome,
};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.several/1");

/// The tasks to act on, and how long to wait for each.
#[derive(Debug, clap::Args)]
pub struct Targets {
    /// Ids, starts of ids, or branches [default: the task of this session or worktree].
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,
    /// Confirm without asking, if the workflow wants a confirmation.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub wait_options: WaitArgs,
}

impl Targets {
    /// The target, if there is only one; `None` if several tasks are named.
    pub fn only(&self) -> Option<Target> {
        match self.tasks.as_slice() {
            [] => Some(self.target(None)),
            [task] => Some(self.target(Some(task))),
            _ => None,
        }
    }

    pub fn target(&self, task: Option<&String>) -> Target {
        Target {
            task: task.cloned(),
            yes: self.yes,
            wait_options: self.wait_options,
        }
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<Line>,
}

/// What happened to one task.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "TaskLine")]
struct Line {
    /// The task, as you named it.
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// `succeeded`, `already`, `in_flight`, `failed`, `refused` or `interrupted`.
    outcome: &'static str,
    /// What happened, in words.
    text: String,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error>,
}

/// The result for one of several tasks.
pub struct TaskResult {
    pub task: TaskId,
    pub status: Option<Status>,
    pub outcome: Outcome,
    pub text: String,
}

impl TaskResult {
    /// The result of a request; a refusal is an error.
    pub fn of(answer: Answer) -> Result<TaskResult, Error> {
        let (outcome, report, _) = require_outcome(answer)?;
        let mut text = outcome.describe(&report);
        for failed in &report.failed_effects {
            let _infallible = write!(text, "; {} failed: {}", failed.effect, failed.error);
        }
        for kept in &report.kept_worktrees {
            let _infallible = write!(text, "; {}", kept.notice());
        }
        Ok(TaskResult {
            task: report.task.id,
            status: Some(report.task.status),
            outcome,
            text,
        })
    }
}

/// The tasks with their summaries, for a question; a name that matches no task stays as it is.
pub fn describe_each(driver: &Driver, names: &[String]) -> String {
    let described = names.iter().map(|name| {
        let task = driver.callers.resolve_task(Some(name)).ok();
        match task.and_then(|task| driver.views.show(&task).ok()) {
            Some(shown) => {
                let task = shown.stored.task;
                format!("{} `{}`", task.id, task.summary)
            }
            None => name.clone(),
        }
    });
    described.collect::<Vec<_>>().join(", ")
}

/// Does something for each named task, and reports on all of them. A failure does not stop the
/// others; an interruption does.
pub fn for_each(
    names: &[String],
    output: &mut Output,
    mut act: impl FnMut(&String, &mut Output) -> Result<TaskResult, Error>,
) -> Result<Exit, Error> {
    let mut lines = Vec::new();
    let mut interruption = None;
    for name in names {
        // The user wants to stop, not to continue with the next task.
        if interruption.is_some() {
            break;
        }
        lines.push(match act(name, output) {
            Ok(result) => Line {
                name: name.clone(),
                task: Some(result.task),
                status: result.status,
                outcome: result.outcome.code(),
                text: result.text,
                error: None,
            },
            Err(error) => {
                interruption = error.is_interruption().then_some(error.exit);
                Line {
                    name: name.clone(),
                    task: None,
                    status: None,
                    outcome: interruption.map_or("refused", |_| "interrupted"),
                    text: error.message.clone(),
                    error: Some(error),
                }
            }
        });
    }
    let has = |codes: &[&str]| lines.iter().any(|line| codes.contains(&line.outcome));
    let exit = if let Some(exit) = interruption {
        exit
    } else if has(&["refused", Outcome::Failed.code()]) {
        Exit::Refused
    } else if has(&[Outcome::InFlight.code()]) {
        Exit::Busy
    } else {
        Exit::Ok
    };
    if output.is_json() {
        SHAPE.print(&Body { tasks: lines }, output)?;
    } else {
        output.answer(&text(&lines, names.len(), output.answer_width()))?;
    }
    Ok(exit)
}

/// Makes the same request for each task. A single task gets the usual answer instead of a report.
pub fn ask_each(
    targets: &Targets,
    draft: &RequestDraft,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    if let Some(target) = targets.only() {
        return ask(&target, draft.clone(), environment, output);
    }
    for_each(&targets.tasks, output, |name, output| {
        let target = targets.target(Some(name));
        let answer = request_with_confirmation(&target, draft.clone(), environment, output)?;
        TaskResult::of(answer)
    })
}

fn text(lines: &[Line], all: usize, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for line in lines {
        let label = line
            .task
            .as_ref()
            .map_or(line.name.as_str(), TaskId::as_str);
        let is_bad = line.error.is_some() || line.outcome == Outcome::Failed.code();
        let style = if is_bad { Style::Bad } else { Style::Plain };
        let message = format!(": {}", line.text);
        text.push_line(&[(Style::Bold, label), (style, &message)], 4, width);
        for hint in line.error.iter().flat_map(Error::hints_given) {
            text.push_line(&[(Style::Plain, &format!("  hint: {hint}"))], 4, width);
        }
    }
    if let Some(summary) = summary(lines, all) {
        text.push(Style::Bold, &summary);
        text.end_line();
    }
    text
}

/// How many of all tasks are done; `None` if all are.
fn summary(lines: &[Line], all: usize) -> Option<String> {
    let codes = [Outcome::Done.code(), Outcome::Already.code()];
    let is_done = |line: &&Line| codes.contains(&line.outcome);
    let done = lines.iter().filter(is_done).count();
    (done < all).then(|| format!("{done} of {all} done, {} not", all - done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_succeeded_counts_as_done() {
        let line = |outcome| Line {
            name: String::from("one"),
            task: None,
            status: None,
            outcome,
            text: String::new(),
            error: None,
        };
        let lines = [
            line(Outcome::Done.code()),
            line(Outcome::Already.code()),
            line(Outcome::Failed.code()),
            line(Outcome::InFlight.code()),
        ];
        assert_eq!(summary(&lines[..2], 2), None);
        let expected = "2 of 5 done, 3 not";
        assert_eq!(summary(&lines, 5).as_deref(), Some(expected));
    }
}
