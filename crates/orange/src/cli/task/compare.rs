//! `orange task compare`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use orange_config::Environment;
use orange_driver::{DiffSize, Driver, TestResult};
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_engine::usage::Usage;
use serde::Serialize;

use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Column, Grid, Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.compare/1");

/// Compare tasks side by side.
///
/// Shows for each task its status, its coding agent, the size of its changes, including uncommitted
/// ones, its tests, and what its agents used, as they report it. TESTS is what the commands in the
/// gates of the workflow have shown for the last commit, or with `--test` the result of a command
/// that runs now. Use it to choose among several tasks for the same work; a single task is compared
/// with the others that `orange new --each` created with it.
/// `orange task keep` keeps one of them and cancels the others; their work is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tasks: ids, starts of ids, or branches.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
    /// Run this shell command on the last commit of each task, one after the other, in a worktree
    /// of its own; each may take as long as the setting `merge.verify_timeout`.
    #[arg(long, value_name = "COMMAND")]
    pub test: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<TaskBody>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "ComparedTask")]
struct TaskBody {
    id: String,
    project: String,
    branch: String,
    summary: String,
    status: String,
    harness: String,
    /// The size of its changes; `null` if it has no branch yet.
    changes: Option<Changes>,
    tests: Tests,
    /// What its agents used, as they reported it.
    usage: Usage,
}

/// The tests of a task's last commit.
#[derive(Serialize, schemars::JsonSchema)]
struct Tests {
    /// `passed`, `failed`, `unknown` or `not_run`.
    result: &'static str,
    /// How the command ended, or why the result is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
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
    if args.test.is_some() {
        driver.callers.require_user("run the tests of tasks")?;
    }
    let mut names = named_tasks(&driver, &args.tasks)?;
    // A task that is named twice is compared once.
    let mut seen = BTreeSet::new();
    names.retain(|task| seen.insert(task.clone()));
    let mode = WaitMode::for_wait(output);
    let (tasks, signal) = run_with_progress(driver.context.progress(), mode, || {
        let tasks = names.iter();
        let tasks = tasks.map(|task| task_body(&driver, task, args.test.as_deref()));
        tasks.collect::<Result<Vec<TaskBody>, Error>>()
    });
    let tasks = tasks?;
    if output.is_json() {
        SHAPE.print(&Body { tasks }, output)?;
    } else {
        output.answer_grid(&grid(&tasks))?;
        output.answer(&reasons(&tasks, output.answer_width()))?;
    }
    Ok(signal.map_or(Exit::Ok, Exit::from))
}

/// Why tests failed or are unknown, a line for each task.
fn reasons(tasks: &[TaskBody], width: Option<usize>) -> Text {
    let mut text = Text::new();
    for task in tasks {
        if let Some(reason) = &task.tests.reason {
            let message = format!(": tests {}: {reason}", task.tests.result);
            let parts = [(Style::Bold, task.id.as_str()), (Style::Plain, &message)];
            text.push_line(&parts, 4, width);
        }
    }
    text
}

fn tests(
    driver: &Driver,
    task: &TaskId,
    size: &DiffSize,
    command: Option<&str>,
) -> Result<Tests, Error> {
    let found = match command {
        // After an interruption the table is printed with what is known by then.
        Some(_) if driver.context.progress().is_over() => TestResult::NotRun,
        Some(command) => driver.workspaces.run_tests(task, command)?,
        None => driver.views.recorded_tests(task, size.head.as_ref())?,
    };
    let (result, reason) = match found {
        TestResult::Passed => ("passed", None),
        TestResult::Failed(ending) => ("failed", Some(ending)),
        TestResult::Unknown(reason) => ("unknown", Some(reason)),
        TestResult::NotRun => ("not_run", None),
    };
    Ok(Tests { result, reason })
}

/// The tasks with these names. A single name stands for all tasks that `orange new --each` created
/// together with that task.
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

fn task_body(driver: &Driver, id: &TaskId, test: Option<&str>) -> Result<TaskBody, Error> {
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
        tests: tests(driver, &id, &size, test)?,
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

fn grid(tasks: &[TaskBody]) -> Grid<'_, 9> {
    let (text, number) = (Column::text, Column::number);
    let mut grid = Grid::new([
        text("TASK", None),
        text("STATUS", Some(4)),
        text("AGENT", Some(4)),
        text("CHANGES", Some(6)),
        text("TESTS", None),
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
            tests_cell(&task.tests),
            (Style::Plain, Cow::from(task.usage.tokens_cell())),
            (Style::Plain, Cow::from(task.usage.cost_cell())),
            (Style::Plain, Cow::from(task.usage.time_cell())),
            (Style::Dim, Cow::from(task.branch.as_str())),
        ]);
    }
    grid
}

fn tests_cell(tests: &Tests) -> (Style, Cow<'static, str>) {
    let style = match tests.result {
        "passed" => Style::Good,
        "failed" => Style::Bad,
        _ => Style::Dim,
    };
    (style, Cow::from(tests.result.replace('_', " ")))
}
