//! `orange task compare`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use orange_config::Environment;
use orange_driver::{DiffSize, Driver};
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_engine::usage::Usage;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Column, Grid, Output, Style};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.compare/1");

/// Compare tasks side by side.
///
/// Shows for each task its status, its coding agent, the size of its changes, including uncommitted
/// ones, and what its agents used, as they report it. Use it to choose among several tasks for the
/// same work; a single task is compared with the others that `orange new --each` created with it.
/// `orange task keep` keeps one of them and cancels the others; their work is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tasks: ids, starts of ids, or branches.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<TaskBody>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct TaskBody {
    id: String,
    project: String,
    branch: String,
    summary: String,
    status: String,
    harness: String,
    /// The size of its changes; `null` if it has no branch yet.
    changes: Option<Changes>,
    /// What its agents used, as they reported it.
    usage: Usage,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Changes {
    commits: u64,
    /// The number of changed files.
    files: u64,
    /// The number of added lines.
    added: u64,
    /// The number of removed lines.
    removed: u64,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let mut seen = BTreeSet::new();
    let mut tasks = Vec::new();
    for task in named_tasks(&driver, &args.tasks)? {
        // A task that is named twice is compared once.
        if seen.insert(task.clone()) {
            tasks.push(task_body(&driver, &task)?);
        }
    }
    if output.is_json() {
        return SHAPE.print(&Body { tasks }, output);
    }
    output.answer_grid(&grid(&tasks))?;
    Ok(Exit::Ok)
}

/// The tasks with these names; a single name stands for its group.
fn named_tasks(driver: &Driver, names: &[String]) -> Result<Vec<TaskId>, Error> {
    let found = names
        .iter()
        .map(|name| driver.callers.resolve_task(Some(name)));
    let found: Vec<TaskId> = found.collect::<Result<_, _>>()?;
    if let [task] = found.as_slice() {
        let members = driver.views.group_of(task)?;
        return Ok(members.into_iter().map(|it| it.task.id).collect());
    }
    Ok(found)
}

fn task_body(driver: &Driver, id: &TaskId) -> Result<TaskBody, Error> {
    let Task {
        id,
        project,
        branch,
        summary,
        status,
        harness,
        ..
    } = driver.views.show(id)?.stored.task;
    let size = driver.workspaces.diff_size(&id)?;
    Ok(TaskBody {
        usage: driver.views.usage_of(&id)?,
        id: id.to_string(),
        project: project.to_string(),
        branch: branch.to_string(),
        summary,
        status: status.to_string(),
        harness: harness.to_string(),
        changes: changes(&size),
    })
}

fn changes(size: &DiffSize) -> Option<Changes> {
    size.head.as_ref()?;
    Some(Changes {
        commits: size.commits,
        files: size.files,
        added: size.added,
        removed: size.removed,
    })
}

fn grid(tasks: &[TaskBody]) -> Grid<'_, 8> {
    let (text, number) = (Column::text, Column::number);
    let mut grid = Grid::new([
        text("TASK", None),
        text("STATUS", Some(6)),
        text("AGENT", Some(6)),
        text("CHANGES", Some(9)),
        number("TOKENS"),
        number("COST"),
        number("RAN"),
        text("BRANCH", Some(4)),
    ]);
    for task in tasks {
        let changes = task.changes.as_ref().map(|it| {
            let files = if it.files == 1 { "file" } else { "files" };
            format!("+{} -{} in {} {files}", it.added, it.removed, it.files)
        });
        grid.push([
            (Style::Bold, Cow::from(task.id.as_str())),
            (Style::Plain, Cow::from(task.status.as_str())),
            (Style::Plain, Cow::from(task.harness.as_str())),
            (Style::Plain, Cow::from(changes.unwrap_or_default())),
            (Style::Plain, Cow::from(task.usage.tokens_cell())),
            (Style::Plain, Cow::from(task.usage.cost_cell())),
            (Style::Plain, Cow::from(task.usage.time_cell())),
            (Style::Dim, Cow::from(task.branch.as_str())),
        ]);
    }
    grid
}
