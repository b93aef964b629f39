//! `orange project add`.

use std::path::PathBuf;

use orange_config::{Environment, Project};
use orange_driver::Driver;
use orange_engine::names::{HarnessName, ProjectName};
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape, hint_paragraph};
use crate::output::{Output, Paragraph, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.project.add/1");

/// Register a git repository.
///
/// Adds the repository to `projects.json` in orange's home directory (`~/orange`). In that file you
/// may edit `workflow`, `harness`, `review_harness`, `pool_size` (how many tasks can have a
/// worktree at once), `task_file`, `push` (push each merge), `delete_branch` (delete the branch
/// after merging), and the scripts `setup` and `teardown`. The repository itself is not changed.
/// Registering it again changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A directory of the repository [default: the current directory].
    #[arg(value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// The project's name [default: after the repository's directory].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The workflow of its tasks.
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The coding agent of its tasks: a definition in `harnesses/NAME.toml`.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    is_new: bool,
    project: &'a Project,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let here = driver.context.directory().map(std::path::Path::to_owned);
    let directory = match (&args.directory, here) {
        (Some(named), Some(here)) => here.join(named),
        (Some(named), None) => named.clone(),
        (None, here) => here.unwrap_or_default(),
    };
    let (project, is_new) = driver.admin.add_project(
        &directory,
        args.name.as_deref().map(ProjectName::new),
        args.workflow.clone(),
        args.harness.as_deref().map(HarnessName::new),
    )?;
    if output.is_json() {
        let body = Body {
            is_new,
            project: &project,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    let word = if is_new {
        "registered"
    } else {
        "already registered"
    };
    let path = project.path.display();
    let branch = &project.default_branch;
    let message = format!(": {word}, `{path}`, default branch `{branch}`");
    let parts = [
        (Style::Bold, project.name.as_str()),
        (Style::Plain, &message),
    ];
    text.push_line(&parts, 4, output.answer_width());
    output.answer(&text)?;
    warn_unread_filters(&driver, &project, output);
    Ok(Exit::Ok)
}

/// Warns about git filters that the project's files need and orange does not run. A repository that
/// cannot be read is reported when a task needs it.
pub fn warn_unread_filters(driver: &Driver, project: &Project, output: &mut Output) {
    let width = output.narration_width();
    for filter in driver
        .workspaces
        .unread_filters(project)
        .unwrap_or_default()
    {
        let mut text = Text::new();
        let warning = Paragraph {
            lead: &[(Style::Warn, "warning:")],
            body: &filter.message,
            margin: 0,
            indent: "warning: ".len(),
        };
        text.push_paragraph(&warning, width);
        text.push_paragraph(&hint_paragraph(&filter.fix, 0), width);
        output.narrate(&text);
    }
}
