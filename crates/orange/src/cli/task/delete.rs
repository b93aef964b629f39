//! `orange task delete`.

use orange_config::Environment;
use orange_driver::{DeleteResult, Driver, DriverError};
use orange_engine::names::TaskId;
use orange_engine::refusal::Blocker;
use serde::Serialize;

use crate::cli::request::outcome::Outcome;
use crate::cli::request::requests::{Consent, ask_consent, driver};
use crate::cli::request::several::{TaskResult, describe_each, for_each};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.delete/1");

/// Delete finished tasks.
///
/// Moves each task's directory to `trash` in orange's home directory. The branch, the saved work
/// and the history are kept. `orange task list --deleted` lists deleted tasks, `--undo` restores
/// them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids, starts of ids, or branches.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
    /// Delete without asking.
    #[arg(long)]
    pub yes: bool,
    /// Restore deleted tasks.
    #[arg(long)]
    pub undo: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    is_deleted: bool,
    already: bool,
    directory: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let [name] = args.tasks.as_slice() else {
        return delete_each(args, &driver, output);
    };
    let task = resolve(args, &driver, name)?;
    let result = if args.undo {
        driver.requests.undelete(&task)?
    } else {
        delete(&driver, &task, args.yes, output)?
    };
    let (directory, already) = match result {
        DeleteResult::Refused(refusal) => return Err(refusal.into()),
        DeleteResult::Done { directory, already } => (directory, already),
    };
    let directory = directory.map(|path| path.display().to_string());
    if output.is_json() {
        let body = Body {
            task: task.as_str(),
            is_deleted: !args.undo,
            already,
            directory,
        };
        return SHAPE.print(&body, output);
    }
    let word = word(args.undo, already);
    let place = directory.map(|it| format!(", its directory is `{it}`"));
    let mut text = Text::new();
    let message = format!(": {word}{}", place.unwrap_or_default());
    let parts = [(Style::Bold, task.as_str()), (Style::Plain, &message)];
    text.push_line(&parts, 4, output.answer_width());
    output.answer(&text)?;
    if !args.undo {
        let mut narration = Text::new();
        let message = format!("`orange task delete {task} --undo` restores it");
        narration.push(Style::Plain, &message);
        narration.end_line();
        output.narrate(&narration);
    }
    Ok(Exit::Ok)
}

fn resolve(args: &Args, driver: &Driver, name: &str) -> Result<TaskId, DriverError> {
    if args.undo {
        driver.callers.resolve_deleted(name)
    } else {
        driver.callers.resolve_task(Some(name))
    }
}

/// Asks once for all of the tasks, then deletes or restores each.
fn delete_each(args: &Args, driver: &Driver, output: &mut Output) -> Result<Exit, Error> {
    let mut is_confirmed = args.yes;
    if !args.yes && !args.undo {
        let tasks = describe_each(driver, &args.tasks);
        let count = args.tasks.len();
        let question =
            format!("Delete {count} tasks: {tasks}? Branches, saved work and history are kept.");
        match ask_consent(&question, output)? {
            Consent::Given => is_confirmed = true,
            Consent::Denied => return Err(Error::denied_for_all("delete")),
            Consent::NotAsked => {}
        }
    }
    for_each(&args.tasks, output, |name, _| {
        let task = resolve(args, driver, name)?;
        let result = if args.undo {
            driver.requests.undelete(&task)?
        } else {
            driver.requests.delete(&task, is_confirmed)?
        };
        let already = match result {
            DeleteResult::Refused(refusal) => {
                let needs_answer = matches!(
                    refusal.missing.as_slice(),
                    [Blocker::ConfirmationNeeded { .. }]
                );
                return Err(if needs_answer {
                    Error::unconfirmed("delete", &task)
                } else {
                    refusal.into()
                });
            }
            DeleteResult::Done { already, .. } => already,
        };
        Ok(TaskResult {
            task,
            status: None,
            outcome: if already {
                Outcome::Already
            } else {
                Outcome::Done
            },
            text: word(args.undo, already).to_owned(),
        })
    })
}

fn word(is_undo: bool, already: bool) -> &'static str {
    match (is_undo, already) {
        (false, false) => "deleted",
        (false, true) => "already deleted",
        (true, false) => "restored",
        (true, true) => "was not deleted",
    }
}

/// Deletes the task. If only the user's confirmation is missing, asks for it first.
fn delete(
    driver: &Driver,
    task: &TaskId,
    is_confirmed: bool,
    output: &mut Output,
) -> Result<DeleteResult, Error> {
    let result = driver.requests.delete(task, is_confirmed)?;
    let DeleteResult::Refused(refusal) = &result else {
        return Ok(result);
    };
    let [Blocker::ConfirmationNeeded { question }] = refusal.missing.as_slice() else {
        return Ok(result);
    };
    match ask_consent(question, output)? {
        Consent::Given => Ok(driver.requests.delete(task, true)?),
        Consent::Denied => Err(Error::denied("delete", task)),
        Consent::NotAsked => Err(Error::unconfirmed("delete", task)),
    }
}
