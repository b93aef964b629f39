//! Creates one task for each item of a file.

use std::path::Path;

use orange_config::read_script;
use orange_driver::{Driver, NewTaskOutlook, NewTaskRequest, TaskRow};
use orange_engine::items::{Item, ItemFile, ItemProblem};
use orange_engine::refusal::{Blocker, Refusal};
use serde::Serialize;
use serde_json::{Value, json};

use super::line::CreatedLine;
use super::{Args, narrate_project};
use crate::cli::answer::words::count_noun;
use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::outcome::Outcome;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.create.from/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// The items in the order of the file; after an interruption, those that were reached.
    tasks: Vec<ItemLine>,
    /// The entries that are checked off; no task is created for them.
    checked: Vec<CheckedLine>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ItemLine {
    /// The line of the file where the item begins.
    line: usize,
    summary: String,
    /// `succeeded`, `in_flight`, `failed`, or `already` if the project has a task with this
    /// summary.
    outcome: &'static str,
    /// The status of a task that was already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(flatten)]
    created: CreatedLine,
}

#[derive(Serialize, schemars::JsonSchema)]
struct CheckedLine {
    line: usize,
    summary: String,
}

impl ItemLine {
    fn existing(item: &Item, row: &TaskRow) -> ItemLine {
        ItemLine {
            line: item.line,
            summary: item.summary.clone(),
            outcome: Outcome::Already.code(),
            status: Some(row.status.to_string()),
            created: CreatedLine::existing(row.id.to_string(), row.branch.clone()),
        }
    }

    fn new(item: &Item, created: CreatedLine) -> ItemLine {
        let outcome = if created.problem.is_some() {
            Outcome::Failed
        } else if created.in_flight {
            Outcome::InFlight
        } else {
            Outcome::Done
        };
        ItemLine {
            line: item.line,
            summary: item.summary.clone(),
            outcome: outcome.code(),
            status: None,
            created,
        }
    }
}

/// Creates and starts one task per item. Nothing is created unless every item can be.
pub(super) fn run(
    path: &str,
    args: &Args,
    driver: &Driver,
    shared: &NewTaskRequest,
    output: &mut Output,
) -> Result<Exit, Error> {
    let file = read(path)?;
    let requests: Vec<NewTaskRequest> = file.items.iter().map(|it| request(shared, it)).collect();
    let outlooks = check(path, driver, &file, &requests)?;
    let is_new = |outlook: &NewTaskOutlook| matches!(outlook, NewTaskOutlook::Possible);
    let new = requests.into_iter().zip(&outlooks);
    let new: Vec<NewTaskRequest> = new.filter(|it| is_new(it.1)).map(|it| it.0).collect();
    let mode = WaitMode::for_wait(output);
    let waiting = args.wait_options.wait_policy(driver);
    let (results, signal) = run_with_progress(driver.context.progress(), mode, || {
        driver.requests.create_many(&new, !args.no_spawn, waiting)
    });
    if let Some(first) = results.iter().find_map(|it| it.as_ref().ok()) {
        narrate_project(driver, shared, first, output)?;
    }
    let mut results = results.into_iter();
    let mut lines = Vec::new();
    for (item, outlook) in file.items.iter().zip(&outlooks) {
        if let NewTaskOutlook::Exists(row) = outlook {
            lines.push(ItemLine::existing(item, row));
        } else if let Some(result) = results.next() {
            let created = CreatedLine::of(result.map_err(Error::from));
            lines.push(ItemLine::new(item, created));
        }
    }
    let has = |outcome: Outcome| lines.iter().any(|it| it.outcome == outcome.code());
    let exit = if has(Outcome::Failed) {
        Exit::Refused
    } else if has(Outcome::InFlight) {
        Exit::Busy
    } else {
        Exit::Ok
    };
    let missing = file.items.len() - lines.len();
    print(lines, &file, missing, output)?;
    let Some(signal) = signal else {
        return Ok(exit);
    };
    let again = "run the same command again to create the tasks that are missing";
    let error = signal
        .interruption_error(&WaitSubject::Creation)
        .hint(again);
    output.print_error(&error.to_text(output.narration_width()));
    Ok(error.exit)
}

fn read(path: &str) -> Result<ItemFile, Error> {
    let text = read_script(Path::new(path)).map_err(|reason| {
        let message = format!("cannot read the items in `{path}`: {reason}");
        Error::new(Exit::Usage, "items-unreadable", message)
            .hint("pass a text file: `orange new --from FILE`")
            .details(json!({ "name": path, "reason": reason.to_string() }))
    })?;
    let file = ItemFile::read(&text);
    if file.items.is_empty() && file.checked.is_empty() {
        let message = format!("cannot create tasks from `{path}`: it has no items");
        return Err(Error::new(Exit::Usage, "items-invalid", message)
            .hint("write one list entry per task, such as `- Fix the login`, or one `## ` section")
            .details(json!({ "name": path, "problems": [] })));
    }
    Ok(file)
}

/// The task of an item; the context for all tasks comes first.
fn request(shared: &NewTaskRequest, item: &Item) -> NewTaskRequest {
    let contexts = [&shared.context, &item.context].into_iter().flatten();
    let contexts: Vec<&str> = contexts.map(String::as_str).collect();
    NewTaskRequest {
        summary: item.summary.clone(),
        context: (!contexts.is_empty()).then(|| contexts.join("\n\n")),
        ..shared.clone()
    }
}

/// What would become of each item; fails if one of them cannot become a task.
fn check(
    path: &str,
    driver: &Driver,
    file: &ItemFile,
    requests: &[NewTaskRequest],
) -> Result<Vec<NewTaskOutlook>, Error> {
    let outlooks = driver.requests.preview(requests)?;
    let mut problems = file.problems.clone();
    for (item, outlook) in file.items.iter().zip(&outlooks) {
        let message = match outlook {
            NewTaskOutlook::Possible | NewTaskOutlook::Exists(_) => continue,
            NewTaskOutlook::Unnamed(message) => message.clone(),
            NewTaskOutlook::Refused(refusal) if is_about_text(refusal) => refusal.to_string(),
            NewTaskOutlook::Refused(refusal) => return Err(refusal.clone().into()),
        };
        let line = item.line;
        problems.push(ItemProblem { line, message });
    }
    if problems.is_empty() {
        return Ok(outlooks);
    }
    problems.sort_by_key(|it| it.line);
    let listed = problems.iter();
    let listed = listed.map(|it| format!("line {}: {}", it.line, it.message));
    let listed: Vec<String> = listed.collect();
    let message = format!("cannot create tasks from `{path}`: {}", listed.join("; "));
    let details = problems.iter();
    let details = details.map(|it| json!({ "line": it.line, "message": it.message }));
    let details: Vec<Value> = details.collect();
    Err(Error::new(Exit::Usage, "items-invalid", message)
        .hint("no task was created; correct these lines, and run the command again")
        .details(json!({ "name": path, "problems": details })))
}

/// Whether only the text of the task is refused, so that other items may be accepted.
fn is_about_text(refusal: &Refusal) -> bool {
    let mut missing = refusal.missing.iter();
    missing.all(|it| matches!(it, Blocker::GuardFailed { .. }))
}

/// Prints what became of the items; `missing` were not reached.
fn print(
    lines: Vec<ItemLine>,
    file: &ItemFile,
    missing: usize,
    output: &mut Output,
) -> Result<(), Error> {
    if output.is_json() {
        let checked = file.checked.iter().map(|it| CheckedLine {
            line: it.line,
            summary: it.summary.clone(),
        });
        let body = Body {
            tasks: lines,
            checked: checked.collect(),
        };
        SHAPE.print(&body, output)?;
        return Ok(());
    }
    let width = output.answer_width();
    let mut text = Text::new();
    for line in &lines {
        match (&line.status, &line.created.task) {
            (Some(status), Some(task)) => {
                let message = format!(": {}, already there, in `{status}`", line.summary);
                text.push_line(&[(Style::Bold, task), (Style::Plain, &message)], 4, width);
            }
            _ => line.created.push(&line.summary, &mut text, width),
        }
    }
    let is_new = |it: &&ItemLine| it.status.is_none() && it.created.task.is_some();
    let created = lines.iter().filter(is_new).count();
    let existing = lines.iter().filter(|it| it.status.is_some()).count();
    let failed = lines.len() - created - existing;
    let counts = [
        (existing, "already there"),
        (failed, "not created"),
        (missing, "not reached"),
        (file.checked.len(), "checked off and left out"),
    ];
    let mut parts = vec![format!("{} created", count_noun(created, "task"))];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(counts.map(|(count, what)| format!("{count} {what}")));
    text.push(Style::Bold, &parts.join(", "));
    text.end_line();
    output.answer(&text)?;
    Ok(())
}
