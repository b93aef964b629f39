//! `orange config show`.

use std::path::Path;

use orange_config::{Environment, Home, Setting, SettingOrigin};
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.config.show/1");

/// Show every setting and its source.
///
/// The first of these that has a setting wins: an environment variable, the project in
/// `projects.json`, `config.toml` in orange's home directory, the policy of the repository that you
/// allowed, the built-in default. Every key is optional, and so is the file. Of a URL only the host
/// is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show the settings of this project [default: that of this directory].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    path: String,
    project: Option<ProjectName>,
    settings: &'a [Setting],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let requested = args.project.as_deref().map(ProjectName::new);
    let project = driver.callers.project_here(requested.as_ref())?;
    let settings = driver.context.settings(project.as_ref())?;
    if output.is_json() {
        let body = Body {
            path: driver.context.home().settings().display().to_string(),
            project: project.map(|it| it.name),
            settings: settings.all(),
        };
        return SHAPE.print(&body, output);
    }
    let columns = ["KEY", "VALUE"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "FROM");
    for setting in settings.all() {
        let value = setting.value.as_ref().map(ToString::to_string);
        let row = [
            Cell::new(Style::Bold, &setting.key),
            Cell::new(Style::Plain, value.as_deref().unwrap_or("not set")),
        ];
        let is_set = setting.value.is_some();
        let origin = if is_set {
            origin_text(&setting.origin, driver.context.home())
        } else {
            String::new()
        };
        table.push(row, Cell::new(Style::Plain, &origin));
    }
    output.answer(&table.to_text(output.answer_width()))?;
    Ok(Exit::Ok)
}

fn origin_text(origin: &SettingOrigin, home: &Home) -> String {
    let inside = |path: &Path| home.relative(path).display().to_string();
    match origin {
        SettingOrigin::Environment { variable } => format!("${variable}"),
        SettingOrigin::Project { project, path } => format!("{} ({project})", inside(path)),
        SettingOrigin::File { path, line } => format!("{}:{line}", inside(path)),
        SettingOrigin::Policy { project, .. } => format!("repository policy ({project})"),
        SettingOrigin::Default => "built in".to_owned(),
    }
}
