//! `orange forge look`.

use orange_config::Environment;
use orange_driver::{LookReport, PostReport};
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::answer::words::pull_request_text;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.forge.look/1");

/// Look at the pull requests of tasks now.
///
/// Asks GitHub about the pull request of each unfinished task, or searches for one of its branch,
/// and lets the task react to failed checks, conflicts, comments of reviewers, and merges. A look
/// that fails changes nothing. Then brings the status up to date that is shown at the issues of
/// tasks. Exits with 3 if something failed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Look at this task: its id, the start of its id, or its branch [default: all].
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Look at the tasks of this project [default: that of this directory, or all].
    #[arg(long, value_name = "NAME", conflicts_with = "task")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<LookReport>,
    /// What was changed at the issues of tasks, and what could not be.
    posts: Vec<PostReport>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let (tasks, with_issue) = if let Some(task) = &args.task {
        let task = driver.callers.resolve_task(Some(task))?;
        (vec![task.clone()], vec![task])
    } else {
        let requested = args.project.as_deref().map(ProjectName::new);
        let project = driver.callers.project_here(requested.as_ref())?;
        let project = project.map(|it| it.name);
        let unfinished = driver.requests.unfinished_tasks(project.as_ref())?;
        let with_issue = driver.requests.tasks_with_issue(project.as_ref())?;
        (unfinished, with_issue)
    };
    let mut reports = Vec::new();
    for task in &tasks {
        reports.push(driver.requests.look_at_pull_request(task)?);
    }
    // Only now: the looks above may have changed the status of a task.
    let mut posts = Vec::new();
    for task in &with_issue {
        let post = driver.requests.post_status(task, true)?;
        posts.extend(post.filter(|it| !it.changes.is_empty() || !it.problems.is_empty()));
    }
    let has_failed = reports.iter().any(|it| it.problem.is_some())
        || posts.iter().any(|it| !it.problems.is_empty());
    let exit = if has_failed { Exit::Refused } else { Exit::Ok };
    if output.is_json() {
        let tasks = reports;
        SHAPE.print(&Body { tasks, posts }, output)?;
        return Ok(exit);
    }
    let mut text = Text::new();
    for report in &reports {
        let found = match (&report.pull_request, &report.problem) {
            (_, Some(problem)) => problem.clone(),
            (Some(seen), None) => pull_request_text(seen),
            (None, None) => String::from("no pull request"),
        };
        let found = format!(": {found}");
        let parts = [
            (Style::Bold, report.task.as_str()),
            (Style::Plain, found.as_str()),
        ];
        text.push_line(&parts, 4, output.answer_width());
    }
    for post in &posts {
        for change in post.changes.iter().chain(&post.problems) {
            let found = format!(": issue #{}: {change}", post.issue);
            let parts = [
                (Style::Bold, post.task.as_str()),
                (Style::Plain, found.as_str()),
            ];
            text.push_line(&parts, 4, output.answer_width());
        }
    }
    if reports.is_empty() && posts.is_empty() {
        text.push(Style::Plain, "no unfinished task");
        text.end_line();
    }
    output.answer(&text)?;
    Ok(exit)
}
