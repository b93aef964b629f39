//! `orange task delete`.

use orange_config::Environment;
use orange_driver::{DeleteResult, Driver};
use orange_engine::names::TaskId;
use orange_engine::refusal::Blocker;
use serde::Serialize;

use crate::cli::request::requests::{Consent, ask_consent, driver};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.delete/1");

/// Delete a finished task.
///
/// The task is no longer listed, and its directory is moved to `trash` in the home of orange. Its
/// branch, its saved work and its history are kept, and `--undo` restores the task.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id, the start of its id, or its branch.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Delete without asking.
    #[arg(long)]
    pub yes: bool,
    /// Restore the deleted task; give its full id.
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
    let task = driver.callers.resolve_task(Some(&args.task))?;
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
    let word = match (args.undo, already) {
        (false, false) => "deleted",
        (false, true) => "already deleted",
        (true, false) => "restored",
        (true, true) => "not deleted",
    };
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

/// Deletes the task, and asks for the confirmation if only that is missing.
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
