//! `orange task cancel`.

use orange_config::Environment;
use orange_driver::{Answer, Driver, RescueInfo};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;

use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::{
    Consent, RequestDraft, Target, ask_consent, driver, print, request_with_confirmation,
};
use crate::cli::{Error, Exit, hint_paragraph};
use crate::output::{Output, Text};

/// Cancel a task.
///
/// Stops the task's agents and releases its worktree. Its commits stay on the branch. Uncommitted
/// work is saved first; `orange task restore` restores it. At a terminal you are asked, unless you
/// pass `--yes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if !args.target.yes {
        let driver = driver(environment)?;
        let task = driver.callers.resolve_task(args.target.task.as_deref())?;
        let question = question(&driver, &task)?;
        if ask_consent(&question, output)? == Consent::Denied {
            return Err(Error::denied("cancel", &task));
        }
    }
    let draft = RequestDraft::plain(RequestKind::Verb(Verb::Cancel));
    let result = request_with_confirmation(&args.target, draft, environment, output)?;
    let ended = match &result {
        Answer::Done(changed) => Some(changed.task.id.clone()),
        _ => None,
    };
    let exit = print(result, output)?;
    if let Some(task) = ended.filter(|_| !output.is_json()) {
        // The task is cancelled; a failure to read the repository does not change that.
        let kept = driver(environment)?
            .workspaces
            .rescues_of(&task, None)
            .unwrap_or_default();
        let waiting: Vec<&RescueInfo> = kept.iter().filter(|it| !it.is_restored).collect();
        if let Some(last) = waiting.last() {
            output.narrate(&rescue_hint(&task, last, output.narration_width()));
        }
    }
    Ok(exit)
}

/// Says what will happen to the task.
fn question(driver: &Driver, task: &TaskId) -> Result<String, Error> {
    let task = driver.views.show(task)?.stored.task;
    let (id, branch, summary) = (&task.id, &task.branch, &task.summary);
    Ok(format!(
        "Cancel {id}, `{summary}`? Its agents are stopped; branch `{branch}` is kept, and \
         uncommitted work is saved."
    ))
}

/// Says that uncommitted work was saved, and how to restore it.
fn rescue_hint(task: &TaskId, kept: &RescueInfo, width: Option<usize>) -> Text {
    let (number, count) = (kept.number, count_noun(kept.paths.len(), "file"));
    let hint = format!(
        "uncommitted work in {count} is saved as number {number}; restore it with `orange task \
         restore {task} {number} --branch NAME`"
    );
    let mut text = Text::new();
    text.push_paragraph(&hint_paragraph(&hint, 0), width);
    text
}
