//! `orange task keep`.

use orange_config::Environment;
use orange_driver::{Answer, Driver, GroupMember, KeptWorktree};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::TaskId;
use serde::Serialize;

use super::cancel::saved_work;
use crate::cli::request::requests::{
    Consent, RequestDraft, Target, WaitArgs, ask_consent, driver, request_without_confirmation,
};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.keep/1");

/// Keep one of several tasks for the same work.
///
/// Cancels the other tasks that `orange new --each` created together with it: their agents are
/// stopped, their branches stay, and uncommitted work is saved. Finished ones are left alone. If it
/// is interrupted, run it again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task to keep: its id, the start of its id, or its branch.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Cancel the others without asking.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub wait_options: WaitArgs,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    kept: String,
    /// The other tasks that were not finished.
    others: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "KeptLine")]
struct Line {
    task: String,
    branch: String,
    /// Where its work is, in words.
    work: String,
    /// What prevented all or part of the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.callers.require_user("keep one of several tasks")?;
    let kept = driver.callers.resolve_task(Some(&args.task))?;
    let members = driver.views.group_of(&kept)?;
    if members.len() < 2 {
        let message =
            format!("cannot keep only `{kept}`: no other task was created with it by `--each`");
        let error = Error::new(Exit::Refused, "no-group", message);
        return Err(error.hint("cancel other tasks with `orange cancel TASK`"));
    }
    let cannot_be_kept = |it: &&GroupMember| it.task.id == kept && it.is_finished && !it.is_merged;
    if let Some(member) = members.iter().find(cannot_be_kept) {
        let status = &member.task.status;
        let message = format!("cannot keep only `{kept}`: it is finished (`{status}`)");
        let error = Error::new(Exit::Refused, "kept-task-ended", message);
        return Err(error.hint(format!(
            "name a task that is open; `orange task compare {kept}` lists them"
        )));
    }
    let is_other = |it: &GroupMember| it.task.id != kept && !it.is_finished;
    let others: Vec<GroupMember> = members.into_iter().filter(is_other).collect();
    if !args.yes && !others.is_empty() {
        let question = question(&kept, &others);
        match ask_consent(&question, output)? {
            Consent::Given => {}
            Consent::Denied => return Err(Error::denied("keep", &kept)),
            Consent::NotAsked => return Err(not_confirmed(&kept, &others)),
        }
    }
    let mut lines = Vec::new();
    let mut interruption = None;
    for other in others {
        // The user wants to stop, not to continue with the next task.
        if interruption.is_some() {
            break;
        }
        let problem = match cancel(args, &other.task.id, environment, output) {
            Ok(problem) => problem,
            Err(error) if error.is_interruption() => {
                interruption = Some(error.exit);
                Some(format!("{}; it continues in the background", error.message))
            }
            Err(error) => Some(format!("not cancelled: {}", error.message)),
        };
        lines.push(Line {
            work: work(&driver, &other),
            task: other.task.id.to_string(),
            branch: other.task.branch.to_string(),
            problem,
        });
    }
    let has_failed = lines.iter().any(|line| line.problem.is_some());
    let failed = if has_failed { Exit::Refused } else { Exit::Ok };
    let exit = interruption.unwrap_or(failed);
    if output.is_json() {
        let kept = kept.to_string();
        let others = lines;
        SHAPE.print(&Body { kept, others }, output)?;
    } else {
        output.answer(&text(&kept, &lines, output.answer_width()))?;
    }
    Ok(exit)
}

fn not_confirmed(kept: &TaskId, others: &[GroupMember]) -> Error {
    let others: Vec<String> = others
        .iter()
        .map(|it| format!("`{}`", it.task.id))
        .collect();
    let message = format!(
        "cannot keep only `{kept}`: cancelling {} needs your confirmation",
        others.join(", ")
    );
    let hint = format!(
        "run `orange task keep {kept} --yes` to confirm; branches are kept, and uncommitted work \
         is saved"
    );
    Error::new(Exit::Refused, "not-confirmed", message).hint(hint)
}

/// Cancels a task; the user has already confirmed this. Returns what failed or is still in
/// progress, if anything.
fn cancel(
    args: &Args,
    task: &TaskId,
    environment: &Environment,
    output: &Output,
) -> Result<Option<String>, Error> {
    let target = Target {
        task: Some(task.to_string()),
        yes: true,
        wait_options: WaitArgs {
            wait: args.wait_options.wait,
        },
    };
    let draft = RequestDraft::plain(RequestKind::Verb(Verb::Cancel));
    Ok(
        match request_without_confirmation(&target, draft, environment, output)? {
            Answer::Done(report) => {
                let failed = report.failed_effects.first();
                let failed = failed.map(|it| format!("{} failed: {}", it.effect, it.error));
                let kept = report.kept_worktrees.first().map(KeptWorktree::notice);
                failed.or(kept).map(|it| format!("cancelled, but {it}"))
            }
            Answer::AlreadyDone(_) => None,
            Answer::StillRunning(_) => Some(String::from(
                "cancelled; its agents are still being stopped",
            )),
            Answer::Refused(refusal) => return Err(refusal.into()),
        },
    )
}

/// Says where the work of a task is.
fn work(driver: &Driver, member: &GroupMember) -> String {
    let task = &member.task;
    let commits = driver.workspaces.diff_size(&task.id).map(|it| it.commits);
    let branch = match commits {
        Ok(0) => None,
        Ok(_) => Some(format!("its commits stay on `{}`", task.branch)),
        // The commits could not be counted, so this says only what holds for every cancelled task.
        Err(_) => Some(format!("commits, if any, stay on `{}`", task.branch)),
    };
    let parts = branch.into_iter().chain(saved_work(driver, &task.id));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        parts.join("; ")
    } else if task.runs.is_empty() {
        String::from("it had not started")
    } else {
        String::from("it had no work")
    }
}

fn question(kept: &TaskId, others: &[GroupMember]) -> String {
    let others = others
        .iter()
        .map(|it| format!("{} ({})", it.task.id, it.task.harness));
    let others: Vec<String> = others.collect();
    format!(
        "Keep {kept} and cancel {}? Their agents are stopped; their branches are kept, and \
         uncommitted work is saved.",
        others.join(", ")
    )
}

fn text(kept: &TaskId, lines: &[Line], width: Option<usize>) -> Text {
    let mut text = Text::new();
    let first = format!("{kept}: kept");
    text.push_line(&[(Style::Good, &first)], 4, width);
    for line in lines {
        let message = match &line.problem {
            Some(problem) => format!(": {problem}"),
            None => format!(": cancelled; {}", line.work),
        };
        let style = if line.problem.is_some() {
            Style::Bad
        } else {
            Style::Plain
        };
        text.push_line(&[(Style::Bold, &line.task), (style, &message)], 4, width);
    }
    text
}
