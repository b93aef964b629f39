//! `orange project remove`.

use orange_config::{Environment, Project};
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.project.remove/1");

/// Unregister a repository.
///
/// Deletes nothing: the repository, its branches, saved work, idle worktrees and finished tasks
/// stay where they are, and registering the repository again finds them. Fails while tasks are open
/// or a worktree still holds work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project.
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    project: &'a Project,
    kept: Vec<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = ProjectName::new(&args.name);
    let (project, usage) = driver.admin.remove_project(&name)?;
    let mut kept = vec![format!(
        "the repository `{}` with its branches and saved work",
        project.path.display()
    )];
    let tasks = driver.context.home().tasks().join(name.as_str());
    if usage.finished_tasks > 0 {
        let count = count_noun(usage.finished_tasks, "finished task");
        kept.push(format!("{count} in `{}`", tasks.display()));
    }
    for path in &usage.idle_workspaces {
        kept.push(format!("the idle worktree `{}`", path.display()));
    }
    if output.is_json() {
        let body = Body {
            project: &project,
            kept,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, project.name.as_str());
    text.push(Style::Plain, ": unregistered; nothing was deleted");
    text.end_line();
    for item in kept {
        let message = format!("  kept: {item}");
        text.push_line(&[(Style::Plain, &message)], 4, output.answer_width());
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}
