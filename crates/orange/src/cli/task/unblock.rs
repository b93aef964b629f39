//! `orange task unblock`.

use orange_config::Environment;
use orange_driver::{Answer, UnblockResult};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use serde::Serialize;

use crate::cli::request::requests::{RequestDraft, Target, ask, driver};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.unblock.all/1");

/// Unblock a task.
///
/// Takes the transition that the workflow names under `verbs: unblock`. It applies to the statuses
/// that the workflow lists there, or, if it lists none, to those that wait for you. Running tasks
/// are not changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Unblock every blocked task.
    #[arg(long, conflicts_with = "task")]
    pub all: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "UnblockedLine")]
struct Line {
    task: String,
    from: String,
    status: Option<String>,
    problem: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if !args.all {
        let draft = RequestDraft::plain(RequestKind::Verb(Verb::Unblock));
        return ask(&args.target, draft, environment, output);
    }
    let wait_options = &args.target.wait_options;
    let driver = driver(environment)?;
    let results = driver
        .requests
        .unblock_all(wait_options.wait_policy(&driver))?;
    let lines: Vec<Line> = results.iter().map(line).collect();
    let failed = lines.iter().any(|line| line.problem.is_some());
    let exit = if failed { Exit::Refused } else { Exit::Ok };
    if output.is_json() {
        SHAPE.print(&Body { tasks: lines }, output)?;
        return Ok(exit);
    }
    let mut text = Text::new();
    if lines.is_empty() {
        text.push(Style::Plain, "no task is blocked");
        text.end_line();
    }
    for line in &lines {
        let message = match (&line.status, &line.problem) {
            (_, Some(problem)) => problem.clone(),
            (Some(status), None) => format!("from `{}` to `{status}`", line.from),
            (None, None) => String::new(),
        };
        let message = format!(": {message}");
        let parts = [(Style::Bold, line.task.as_str()), (Style::Plain, &message)];
        text.push_line(&parts, 4, output.answer_width());
    }
    output.answer(&text)?;
    Ok(exit)
}

fn line(result: &UnblockResult) -> Line {
    let (status, problem) = match &result.answer {
        Ok(Answer::Done(changed) | Answer::StillRunning(changed)) => {
            (Some(changed.task.status.to_string()), None)
        }
        Ok(Answer::AlreadyDone(task)) => (Some(task.status.to_string()), None),
        Ok(Answer::Refused(refusal)) => (None, Some(refusal.to_string())),
        Err(error) => (None, Some(error.to_string())),
    };
    Line {
        task: result.task.id.to_string(),
        from: result.task.status.to_string(),
        status,
        problem,
    }
}
