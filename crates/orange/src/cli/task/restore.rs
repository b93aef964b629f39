//! `orange task restore`.

use std::path::PathBuf;

use orange_config::Environment;
use orange_driver::{Destination, DriverError, KeptWork};
use orange_engine::names::{BranchName, ProjectName};
use serde::Serialize;

use crate::cli::answer::words::counted;
use crate::cli::request::driving::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Listed<'static>>("orange.task.restore/1");

pub const RESTORED: Shape = Shape::of::<BroughtBack<'static>>("orange.task.restored/1");

/// Bring unsaved work back.
///
/// Whenever a worktree is given back, what was not committed in it is kept as a rescue of its task:
/// files, what was staged, and what was in progress. Without a number the rescues are listed; with a
/// number alone, its files. Nothing is ever overwritten, and a rescue that was brought back is still
/// kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// Which rescue.
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,
    /// Bring it back as a new branch: one commit on top of the one that it belongs to.
    #[arg(long, value_name = "BRANCH", requires = "number", group = "to")]
    pub branch: Option<String>,
    /// Bring its files back into a directory, which is made when it is missing.
    #[arg(long, value_name = "DIRECTORY", requires = "number", group = "to")]
    pub directory: Option<PathBuf>,
    /// Bring it back into the task's present worktree.
    #[arg(long, requires = "number", group = "to")]
    pub worktree: bool,
    /// The project, for a task that orange does not know any more.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Listed<'a> {
    rescues: &'a [KeptWork],
}

#[derive(Serialize, schemars::JsonSchema)]
struct BroughtBack<'a> {
    number: u32,
    paths: &'a [String],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    driver.callers.identify_for(&task)?;
    let project = args.project.as_deref().map(ProjectName::new);
    if let (Some(to), Some(number)) = (destination(args), args.number) {
        let paths = driver
            .workspaces
            .restore(&task, project.as_ref(), number, &to)?;
        if output.is_json() {
            let body = BroughtBack {
                number,
                paths: &paths,
            };
            return RESTORED.print(&body, output);
        }
        let mut text = Text::new();
        text.push(Style::Bold, task.as_str());
        let count = counted(paths.len(), "file");
        text.push(Style::Plain, &format!(": rescue {number} is back, {count}"));
        text.end_line();
        output.answer(&text)?;
        return Ok(Exit::Ok);
    }
    let mut rescues = driver.workspaces.rescues_of(&task, project.as_ref())?;
    if let Some(number) = args.number {
        rescues.retain(|it| it.number == number);
        if rescues.is_empty() {
            return Err(DriverError::NoRescue { task, number }.into());
        }
    }
    if output.is_json() {
        return SHAPE.print(&Listed { rescues: &rescues }, output);
    }
    let width = output.answer_width();
    output.answer(&text(&rescues, args.number.is_some(), width))?;
    Ok(Exit::Ok)
}

fn destination(args: &Args) -> Option<Destination> {
    let branch = args.branch.as_deref().map(BranchName::new);
    let directory = args.directory.clone().map(Destination::Directory);
    let worktree = args.worktree.then_some(Destination::Worktree);
    branch.map(Destination::Branch).or(directory).or(worktree)
}

fn text(rescues: &[KeptWork], with_files: bool, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for kept in rescues {
        let branch = kept.branch.as_ref().map(ToString::to_string);
        let branch = branch.unwrap_or_else(|| String::from("no branch"));
        let mut told = format!("  {branch}, {}", counted(kept.paths.len(), "file"));
        for operation in &kept.operations {
            told.push_str(", in the middle of: ");
            told.push_str(&operation.to_string());
        }
        if kept.is_brought_back {
            told.push_str(", brought back");
        }
        let number = kept.number.to_string();
        text.push_line(&[(Style::Bold, &number), (Style::Plain, &told)], 4, width);
        if with_files {
            for path in &kept.paths {
                text.push(Style::Plain, &format!("   {}", path.escape_debug()));
                text.end_line();
            }
            text.push(Style::Plain, &format!("   git show {}", kept.reference));
            text.end_line();
        }
    }
    if rescues.is_empty() {
        text.push(Style::Plain, "nothing was unsaved");
        text.end_line();
    }
    text
}
