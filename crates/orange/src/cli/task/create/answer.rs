//! Prints the result of creating a task.

use orange_driver::{Answer, CreatedTask, Start};
use orange_engine::names::TaskId;

use crate::cli::request::requests::{Extras, print, print_with};
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Prints what was created. The task exists even if its start failed; the answer reports both.
pub(super) fn print_created(created: CreatedTask, output: &mut Output) -> Result<Exit, Error> {
    let task = match &created.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => changed.task.id.clone(),
        Answer::AlreadyDone(_) | Answer::Refused(_) => {
            return print(created.created, output);
        }
    };
    let spawn_hint = format!("`orange task spawn {task}` starts the work");
    let kept_hint = format!("the task is kept; once that is fixed, {spawn_hint}");
    let (exit, hint) = match created.start {
        Start::NotRequested => return print(created.created, output),
        Start::UserOnly => {
            let exit = print(created.created, output)?;
            (
                exit,
                Some(format!("only the user may start it: {spawn_hint}")),
            )
        }
        Start::Waits(waits) => {
            let extras = Extras {
                waits: &waits,
                ..Extras::default()
            };
            let exit = print_with(created.created, &extras, output)?;
            (exit, Some(waiting_hint(&task)))
        }
        Start::Requested(Err(error)) => {
            let error = Error::from(error);
            let exit = print_with(created.created, &start_error_extras(&error), output)?;
            (exit, Some(kept_hint))
        }
        Start::Requested(Ok(Answer::Refused(refusal))) => {
            let error = Error::from(refusal);
            let exit = print_with(created.created, &start_error_extras(&error), output)?;
            (exit, Some(kept_hint))
        }
        Start::Requested(Ok(started)) => {
            let exit = print(created.created.followed_by(started), output)?;
            (exit, (exit == Exit::ExternalFailed).then_some(kept_hint))
        }
    };
    if let Some(hint) = hint.filter(|_| !output.is_json()) {
        narrate_hint(&hint, output);
    }
    Ok(exit)
}

/// A hint for a task whose start has to wait.
pub fn waiting_hint(task: &TaskId) -> String {
    format!(
        "if `orange serve` is running, the task starts once nothing blocks it; `orange task \
         why {task}` shows what it waits for"
    )
}

fn start_error_extras(error: &Error) -> Extras<'_> {
    Extras {
        not_started: Some(error),
        ..Extras::default()
    }
}
