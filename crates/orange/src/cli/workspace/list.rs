//! `orange workspace list`.

use orange_config::Environment;
use orange_driver::WorkspaceInfo;
use orange_engine::names::ProjectName;
use serde::Serialize;

use super::table;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workspace.list/1");

/// List the workspaces and their tasks.
///
/// A workspace is `free`, `reserved` for a task that is about to start, `bound` to a task, or
/// `retired`: not used any more, because releasing it would lose something. PORTS is the value of
/// `ORANGE_PORT_OFFSET` in the workspace.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List only the workspaces of this project.
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
    let workspaces = driver.workspaces.workspaces(project.as_ref())?;
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
