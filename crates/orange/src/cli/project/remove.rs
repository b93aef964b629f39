//! `orange project remove`.

use orange_config::{Environment, Project};
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::answer::words::counted;
use crate::cli::request::driving::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.project.remove/1");

/// Take a repository off the list.
///
/// Nothing is deleted: the repository, its branches, what was kept of unsaved work, idle worktrees
/// and ended tasks stay where they are, and registering it again finds them. It is refused while
/// tasks are open or a worktree holds something.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project.
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    project: &'a Project,
    stays: Vec<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = ProjectName::new(&args.name);
    let (project, found) = driver.admin.remove_project(&name)?;
    let mut stays = vec![format!(
        "the repository `{}` with its branches and what was kept of unsaved work",
        project.path.display()
    )];
    let tasks = driver.context.home().tasks().join(name.as_str());
    if found.ended > 0 {
        let count = counted(found.ended, "ended task");
        stays.push(format!("{count} in `{}`", tasks.display()));
    }
    for path in &found.idle {
        stays.push(format!("the idle worktree `{}`", path.display()));
    }
    if output.is_json() {
        let body = Body {
            project: &project,
            stays,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, project.name.as_str());
    text.push(Style::Plain, ": off the list; nothing was deleted");
    text.end_line();
    for stays in stays {
        let told = format!("  stays: {stays}");
        text.push_line(&[(Style::Plain, &told)], 4, output.answer_width());
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}
