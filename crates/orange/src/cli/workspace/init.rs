//! `orange workspace init`.

use orange_config::Environment;
use orange_driver::WorkspaceInfo;
use orange_engine::names::ProjectName;
use serde::Serialize;

use super::table;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workspace.init/1");

/// Create worktrees in advance.
///
/// Not required: orange creates a worktree when a task needs one. In a large repository, creating
/// them in advance makes the first tasks start faster. Running this again changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many worktrees the project should have [default: its `pool_size`].
    #[arg(value_name = "COUNT")]
    pub count: Option<u32>,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    workspaces: &'a [WorkspaceInfo],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let mode = WaitMode::for_work(output);
    let (workspaces, _) = run_with_progress(driver.context.progress(), mode, || {
        driver
            .workspaces
            .init_workspaces(project.as_ref(), args.count)
    });
    let workspaces = workspaces?;
    if output.is_json() {
        let body = Body {
            workspaces: &workspaces,
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer(&table(&workspaces).to_text(output.answer_width()))?;
    }
    Ok(Exit::Ok)
}
