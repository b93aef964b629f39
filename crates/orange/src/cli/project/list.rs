//! `orange project list`.

use orange_config::{Environment, Project};
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table};

pub const SHAPE: Shape = Shape::of::<Body>("orange.project.list/1");

/// List the registered repositories.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    projects: Vec<Project>,
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let projects = driver.admin.list_projects()?;
    if output.is_json() {
        return SHAPE.print(&Body { projects }, output);
    }
    let columns = ["PROJECT", "WORKFLOW", "HARNESS"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "PATH");
    for project in &projects {
        // The effective settings, which may come from `config.toml` or a policy.
        let settings = driver.context.settings(Some(project));
        // `orange doctor` reports a policy that cannot be used.
        let settings = settings.or_else(|_| driver.context.own_settings(project))?;
        let harness = settings.harness.as_ref().map_or("-", |it| it.as_str());
        let row = [
            Cell::new(Style::Bold, project.name.as_str()),
            Cell::new(Style::Plain, &settings.workflow),
            Cell::new(Style::Plain, harness),
        ];
        let path = project.path.display().to_string();
        table.push(row, Cell::new(Style::Plain, &path));
    }
    output.answer(&table.to_text(output.answer_width()))?;
    Ok(Exit::Ok)
}
