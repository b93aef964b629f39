//! `orange task cancel`.

use orange_config::Environment;
use orange_driver::{Answer, Driver, RescueInfo};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;

use super::restore::commits_on_no_branch;
use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::{
    Consent, RequestDraft, Seen, ask_consent, driver, print, request_with_confirmation,
};
use crate::cli::request::several::{Targets, TaskResult, describe_each, for_each};
use crate::cli::{Error, Exit, hint_paragraph};
use crate::output::{Output, Text};

/// Cancel tasks.
///
/// Stops the agents of each task and releases its worktree. Its commits stay on the branch.
/// Uncommitted work is saved first: `orange task reopen` continues the task with it, and `orange
/// task restore` restores only the work. At a terminal you are asked, unless you pass `--yes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    #[command(flatten)]
    pub seen: Seen,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let Some(target) = args.targets.only() else {
        return cancel_each(args, environment, output);
    };
    if !target.yes {
        let driver = driver(environment)?;
        let task = driver.callers.resolve_task(target.task.as_deref())?;
        // An agent cannot answer the question, and may not cancel anyway.
        let is_agent = driver.callers.identify_for(&task)?.role.is_agent();
        let question = question(&driver, &task)?;
        if !is_agent && ask_consent(&question, output)? == Consent::Denied {
            return Err(Error::denied("cancel", &task));
        }
    }
    let result = request_with_confirmation(&target, draft(args), environment, output)?;
    let cancelled_task = match &result {
        Answer::Done(changed) => Some(changed.task.id.clone()),
        _ => None,
    };
    let exit = print(result, output)?;
    if let Some(task) = cancelled_task.filter(|_| !output.is_json())
        && let Some(hint) = saved_work(&driver(environment)?, &task)
    {
        let mut text = Text::new();
        text.push_paragraph(&hint_paragraph(&hint, 0), output.narration_width());
        output.narrate(&text);
    }
    Ok(exit)
}

/// Says that a task's uncommitted work was saved when its worktree was released, and how to restore
/// it, and names the branches beside the task's that have commits; `None` if there is nothing to
/// say, or all of it was restored.
pub(super) fn saved_work(driver: &Driver, task: &TaskId) -> Option<String> {
    // A repository that cannot be read must not prevent the rest of the answer.
    let rescues = driver.workspaces.rescues_of(task, None).unwrap_or_default();
    let branches = RescueInfo::other_branches(&rescues).into_iter();
    let branches = branches.filter_map(RescueInfo::describe_other_branch);
    let parts: Vec<String> = uncommitted_work(task, &rescues)
        .into_iter()
        .chain(branches)
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Says what was saved that is on no branch.
fn uncommitted_work(task: &TaskId, rescues: &[RescueInfo]) -> Option<String> {
    let mut latest = RescueInfo::latest(rescues);
    // What is on a branch needs no restoring.
    latest.retain(|it| !(it.paths.is_empty() && it.commits.is_empty() && it.operations.is_empty()));
    let (first, others) = latest.split_first()?;
    let number = first.number;
    let files = count_noun(first.paths.len(), "file");
    let files = format!("uncommitted work in {files}");
    let saved = match commits_on_no_branch(first) {
        None => format!("{files} is"),
        Some(commits) if !first.paths.is_empty() => format!("{commits} and {files} are"),
        Some(commit) if first.commits.len() == 1 => format!("{commit} is"),
        Some(commits) => format!("{commits} are"),
    };
    let also: String = others.iter().map(|it| also_saved(it)).collect();
    Some(format!(
        "{saved} saved as number {number}{also}; restore it with `orange task restore {task} \
         {number} --branch NAME`"
    ))
}

/// Names what the same release saved after it had removed the `.gitignore` with the rest.
fn also_saved(rescue: &RescueInfo) -> String {
    let (files, number) = (count_noun(rescue.paths.len(), "file"), rescue.number);
    format!(", and {files} that git ignored until then as number {number}")
}

/// Asks once for all of the tasks, then cancels each.
fn draft(args: &Args) -> RequestDraft {
    RequestDraft {
        if_version: args.seen.if_version,
        ..RequestDraft::plain(RequestKind::Verb(Verb::Cancel))
    }
}

fn cancel_each(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let targets = &args.targets;
    if !targets.yes {
        let driver = driver(environment)?;
        let tasks = describe_each(&driver, &targets.tasks);
        let count = targets.tasks.len();
        let question = format!(
            "Cancel {count} tasks: {tasks}? Their agents are stopped; branches are kept, and \
             uncommitted work is saved."
        );
        if ask_consent(&question, output)? == Consent::Denied {
            return Err(Error::denied_for_all("cancel"));
        }
    }
    for_each(&targets.tasks, output, |name, output| {
        let target = targets.target(Some(name));
        let answer = request_with_confirmation(&target, draft(args), environment, output)?;
        let is_cancelled = matches!(answer, Answer::Done(_));
        let mut result = TaskResult::of(answer)?;
        if is_cancelled && let Some(saved) = saved_work(&driver(environment)?, &result.task) {
            result.text = format!("{}; {saved}", result.text);
        }
        Ok(result)
    })
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
