//! Starts the same task with several agents.

use std::collections::BTreeSet;

use orange_driver::{
    Answer, ChangeReport, CreatedTask, Driver, NewTaskRequest, Start, new_group_name,
};
use orange_engine::names::{BranchName, GroupName, HarnessName};
use orange_engine::task::PendingState;
use serde::Serialize;

use super::create::{Args, narrate_missing_summary};
use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::outcome::Outcome;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::registration::narrate_registration;
use crate::cli::request::requests::require_outcome;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.create.each/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Line {
    harness: String,
    /// The task, if it was created.
    task: Option<String>,
    branch: Option<String>,
    /// Whether its work is still being started.
    in_flight: bool,
    /// Why it was not created or not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The command that tries the start again.
    #[serde(skip)]
    fix: &'static str,
}

impl Line {
    /// Notes what failed. Chooses `retry` if an effect has failed: `spawn` would not repeat that
    /// effect.
    fn note_failures(&mut self, report: &ChangeReport) {
        let failed = report.failed_effects.first();
        self.problem = failed.map(|it| format!("{} failed: {}", it.effect, it.error));
        let mut pending = report.task.pending.iter();
        if pending.any(|it| matches!(it.state, PendingState::Failed { .. })) {
            self.fix = "retry";
        }
    }
}

/// Creates and starts one task per agent, as a group. If one fails, the others continue.
pub(super) fn run(
    args: &Args,
    driver: &Driver,
    new: &NewTaskRequest,
    output: &mut Output,
) -> Result<Exit, Error> {
    driver
        .callers
        .require_user("start a task with several agents")?;
    let agents = args.each.iter().map(|it| it.trim());
    let agents: Vec<&str> = agents.filter(|it| !it.is_empty()).collect();
    let names: BTreeSet<&str> = agents.iter().copied().collect();
    if names.len() < 2 || names.len() < agents.len() {
        let message = "cannot create the tasks: `--each` needs at least two different agents";
        let usage = "usage: `orange new --each claude,codex \"SUMMARY\"`";
        return Err(Error::usage(message).hint(usage));
    }
    let harnesses = agents.iter().map(|it| HarnessName::new(*it));
    driver.requests.require_harnesses(harnesses)?;
    // If a branch is given, it also names the group, so that running the command again completes
    // the group.
    let group = match &new.branch {
        Some(branch) => GroupName::new(branch.as_str()),
        None => new_group_name()?,
    };
    let mut lines = Vec::new();
    let mut interruption = None;
    for harness in agents {
        let mut new = new.clone();
        new.harness = Some(HarnessName::new(harness));
        new.branch = new
            .branch
            .map(|it| BranchName::new(format!("{it}-{harness}")));
        new.queueing.group = Some(group.clone());
        let mode = WaitMode::for_wait(output);
        let waiting = args.wait_options.wait_policy(driver);
        let (created, signal) = run_with_progress(driver.context.progress(), mode, || {
            driver
                .requests
                .create_and_start(&new, !args.no_spawn, waiting)
        });
        if let Ok(CreatedTask {
            registered: Some(registration),
            ..
        }) = &created
        {
            narrate_registration(driver, registration, output);
        }
        lines.push(line(harness, created.map_err(Error::from)));
        if let Some(signal) = signal {
            interruption = Some(signal);
            break;
        }
    }
    let has_failed = lines.iter().any(|it| it.problem.is_some());
    let mut created = lines.iter().filter_map(|it| it.task.clone());
    let first = created.next();
    let is_comparable = created.next().is_some();
    let is_starting = lines.iter().any(|it| it.in_flight);
    if output.is_json() {
        SHAPE.print(&Body { tasks: lines }, output)?;
    } else {
        output.answer(&text(&lines, output.answer_width()))?;
        if let Some(task) = first.filter(|_| is_comparable) {
            let hint = format!(
                "`orange task compare {task}` shows them side by side; `orange task keep TASK` \
                 cancels the others"
            );
            narrate_hint(&hint, output);
            narrate_missing_summary(args, new, "TASK", output);
        }
    }
    if let Some(signal) = interruption {
        let error = signal.interruption_error(&WaitSubject::Creation);
        output.print_error(&error.to_text(output.narration_width()));
        return Ok(error.exit);
    }
    Ok(if has_failed {
        Exit::Refused
    } else if is_starting {
        Exit::Busy
    } else {
        Exit::Ok
    })
}

fn line(harness: &str, created: Result<CreatedTask, Error>) -> Line {
    let mut line = Line {
        harness: harness.to_owned(),
        task: None,
        branch: None,
        in_flight: false,
        problem: None,
        fix: "spawn",
    };
    match created {
        Err(error) => line.problem = Some(error.message),
        Ok(created) => {
            match created.created {
                Answer::Done(changed) | Answer::StillRunning(changed) => {
                    line.task = Some(changed.task.id.to_string());
                    line.branch = Some(changed.task.branch.to_string());
                    line.note_failures(&changed);
                }
                Answer::AlreadyDone(_) => {}
                Answer::Refused(refusal) => line.problem = Some(refusal.to_string()),
            }
            match created.start {
                Start::Requested(Err(error)) => line.problem = Some(error.to_string()),
                Start::Requested(Ok(answer)) => match require_outcome(answer) {
                    Err(error) => line.problem = Some(error.message),
                    Ok((outcome, report, _)) => {
                        line.note_failures(&report);
                        line.in_flight = matches!(outcome, Outcome::InFlight);
                    }
                },
                Start::NotRequested | Start::UserOnly | Start::Waits(_) => {}
            }
        }
    }
    line
}

fn text(lines: &[Line], width: Option<usize>) -> Text {
    let mut text = Text::new();
    for line in lines {
        let harness = &line.harness;
        let Some(task) = &line.task else {
            let problem = line.problem.as_deref().unwrap_or("unknown");
            let message = format!(": no task was created: {problem}");
            text.push_line(&[(Style::Bold, harness), (Style::Bad, &message)], 4, width);
            continue;
        };
        let branch = line.branch.as_deref();
        let branch = branch.map(|it| format!(" on `{it}`")).unwrap_or_default();
        let (style, message) = match &line.problem {
            Some(problem) => (
                Style::Bad,
                format!(
                    ": {harness}{branch} was not started: {problem}; run `orange task {} {task}`",
                    line.fix
                ),
            ),
            None if line.in_flight => {
                (Style::Plain, format!(": {harness}{branch}, still starting"))
            }
            None => (Style::Plain, format!(": {harness}{branch}")),
        };
        text.push_line(&[(Style::Bold, task), (style, &message)], 4, width);
    }
    text
}
