//! Starts the same task with several agents.

use std::collections::BTreeSet;

use orange_driver::{CreatedTask, Driver, NewTaskRequest, new_group_name};
use orange_engine::names::{BranchName, GroupName, HarnessName};
use serde::Serialize;

use super::line::CreatedLine;
use super::{Args, narrate_missing_summary};
use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::registration::narrate_registration;
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.create.each/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "CreatedLine")]
struct Line {
    harness: String,
    #[serde(flatten)]
    created: CreatedLine,
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
        lines.push(Line {
            harness: harness.to_owned(),
            created: CreatedLine::of(created.map_err(Error::from)),
        });
        if let Some(signal) = signal {
            interruption = Some(signal);
            break;
        }
    }
    let has_failed = lines.iter().any(|it| it.created.problem.is_some());
    let mut created = lines.iter().filter_map(|it| it.created.task.clone());
    let first = created.next();
    let is_comparable = created.next().is_some();
    let is_starting = lines.iter().any(|it| it.created.in_flight);
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

fn text(lines: &[Line], width: Option<usize>) -> Text {
    let mut text = Text::new();
    for line in lines {
        line.created.push(&line.harness, &mut text, width);
    }
    text
}
