//! `orange task restore`.

use std::path::PathBuf;

use orange_config::{Environment, clock};
use orange_driver::{Destination, DriverError, KeptWorktree, RescueInfo, TaskDetails};
use orange_engine::names::{BranchName, ProjectName};
use serde::Serialize;

use crate::cli::answer::words::{ago, count_noun};
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<RescueList<'static>>("orange.task.restore/1");

pub const RESTORED_SHAPE: Shape = Shape::of::<RestoredRescue<'static>>("orange.task.restored/1");

/// Restore saved work.
///
/// Before a worktree is released, orange saves its uncommitted work under a number: files, staged
/// changes, and operations in progress. Without a number, lists the saved work of the task. With
/// only a number, lists its files. Restoring never overwrites anything, and the saved work is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// The number of the saved work.
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,
    /// Restore it as a new branch: one commit on top of the commit that was checked out.
    #[arg(long, value_name = "BRANCH", requires = "number", group = "to")]
    pub branch: Option<String>,
    /// Restore its files into this directory; create it if missing.
    #[arg(long, value_name = "DIRECTORY", requires = "number", group = "to")]
    pub directory: Option<PathBuf>,
    /// Restore it into the task's current worktree.
    #[arg(long, requires = "number", group = "to")]
    pub worktree: bool,
    /// The project, for a task that orange no longer knows.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct RescueList<'a> {
    rescues: &'a [RescueInfo],
    /// The worktrees that hold work which could not be saved, and why.
    kept_worktrees: &'a [KeptWorktree],
}

#[derive(Serialize, schemars::JsonSchema)]
struct RestoredRescue<'a> {
    number: u32,
    paths: &'a [String],
    /// The worktrees that hold work which could not be saved, and why.
    kept_worktrees: &'a [KeptWorktree],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    driver.callers.identify_for(&task)?;
    let project = args.project.as_deref().map(ProjectName::new);
    // A task that orange no longer knows has no workspace on record.
    let details = driver.views.show(&task).ok();
    let is_being_released = details.as_ref().is_some_and(TaskDetails::is_being_released);
    let kept = details.map_or_else(Vec::new, |it| it.kept_worktrees);
    let mut rescues = driver.workspaces.rescues_of(&task, project.as_ref())?;
    let is_saved = |number: u32| rescues.iter().any(|it| it.number == number);
    if is_being_released && !args.number.is_some_and(is_saved) {
        return Err(DriverError::WorktreeBeingReleased(task).into());
    }
    if let (Some(to), Some(number)) = (destination(args), args.number) {
        let paths = driver
            .workspaces
            .restore(&task, project.as_ref(), number, &to)?;
        if output.is_json() {
            let body = RestoredRescue {
                number,
                paths: &paths,
                kept_worktrees: &kept,
            };
            return RESTORED_SHAPE.print(&body, output);
        }
        let mut text = Text::new();
        let count = count_noun(paths.len(), "file");
        let place = match &to {
            Destination::Branch(branch) => format!("on branch `{branch}`"),
            Destination::Directory(directory) => format!("in `{}`", directory.display()),
            Destination::Worktree => String::from("in its worktree"),
        };
        let mut message = format!(": restored saved work {number}, {count}, {place}");
        if let Some(rescue) = rescues.iter().find(|it| it.number == number)
            && let Some(commits) = commits_on_no_branch(rescue)
        {
            let only = format!("; `--branch NAME` also restores {commits}");
            message.push_str(&only);
        }
        let words = [(Style::Bold, task.as_str()), (Style::Plain, &message)];
        text.push_line(&words, 4, output.answer_width());
        push_kept(&mut text, &kept, output.answer_width());
        output.answer(&text)?;
        return Ok(Exit::Ok);
    }
    if let Some(number) = args.number {
        rescues.retain(|it| it.number == number);
        if rescues.is_empty() {
            return Err(DriverError::NoRescue { task, number }.into());
        }
    }
    if output.is_json() {
        let body = RescueList {
            rescues: &rescues,
            kept_worktrees: &kept,
        };
        return SHAPE.print(&body, output);
    }
    let width = output.answer_width();
    let mut text = text(&rescues, args.number.is_some(), width);
    push_kept(&mut text, &kept, width);
    output.answer(&text)?;
    Ok(Exit::Ok)
}

/// The number of saved commits that are on no branch; `None` if there are none.
pub(super) fn commits_on_no_branch(rescue: &RescueInfo) -> Option<String> {
    let count = rescue.commits.len();
    (count > 0).then(|| format!("{} on no branch", count_noun(count, "commit")))
}

fn push_kept(text: &mut Text, kept: &[KeptWorktree], width: Option<usize>) {
    for kept in kept {
        text.push_line(&[(Style::Warn, &kept.notice())], 4, width);
    }
}

fn destination(args: &Args) -> Option<Destination> {
    let branch = args.branch.as_deref().map(BranchName::new);
    let directory = args.directory.clone().map(Destination::Directory);
    let worktree = args.worktree.then_some(Destination::Worktree);
    branch.map(Destination::Branch).or(directory).or(worktree)
}

fn text(rescues: &[RescueInfo], with_files: bool, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for rescue in rescues {
        let branch = rescue.branch.as_ref().map(ToString::to_string);
        let branch = branch.unwrap_or_else(|| String::from("no branch"));
        let commits = commits_on_no_branch(rescue);
        let place = match (&rescue.head, rescue.branch_commits.len()) {
            (Some(head), count) if count > 0 => {
                let (count, commit) = (count_noun(count, "commit"), head.short());
                format!("{count} on git branch `{branch}` at {commit}, not on the task's branch")
            }
            _ => commits.unwrap_or(branch),
        };
        let count = count_noun(rescue.paths.len(), "file");
        let when = ago(clock::now(), rescue.saved_at);
        let mut message = format!("  {place}, {count}, saved {when}");
        for operation in &rescue.operations {
            message.push_str(", in progress: ");
            message.push_str(&operation.to_string());
        }
        if let Some(earlier) = rescue.earlier {
            message.push_str(", belongs to ");
            message.push_str(&earlier.to_string());
        }
        if rescue.is_restored {
            message.push_str(", restored");
        }
        let number = rescue.number.to_string();
        text.push_line(
            &[(Style::Bold, &number), (Style::Plain, &message)],
            4,
            width,
        );
        if with_files {
            for commit in rescue.commits.iter().chain(&rescue.branch_commits) {
                text.push(Style::Plain, &format!("   {}", commit.escape_debug()));
                text.end_line();
            }
            for path in &rescue.paths {
                text.push(Style::Plain, &format!("   {}", path.escape_debug()));
                text.end_line();
            }
            text.push(Style::Plain, &format!("   git show {}", rescue.reference));
            text.end_line();
        }
    }
    if rescues.is_empty() {
        text.push(Style::Plain, "no saved work");
        text.end_line();
    }
    text
}
