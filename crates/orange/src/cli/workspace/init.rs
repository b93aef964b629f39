//! `orange workspace init`.

use orange_config::Environment;
use orange_driver::Pooled;
use orange_engine::names::ProjectName;
use serde::Serialize;

use super::table;
use crate::cli::request::attending::{Manner, attend};
use crate::cli::request::driving::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workspace.init/1");

/// Make worktrees ahead of need.
///
/// Not needed: a workspace is made when a task wants one. It saves the first tasks of a large
/// repository the time. Doing it again changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many the project shall have; its whole pool when left out.
    #[arg(value_name = "COUNT")]
    pub count: Option<u32>,
    /// The project; the one this directory belongs to when left out.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    workspaces: &'a [Pooled],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let manner = Manner::working(output);
    let (workspaces, _) = attend(driver.context.meanwhile(), manner, || {
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
