//! `orange workspace list`.

use orange_config::Environment;
use orange_driver::WorkspaceInfo;
use orange_engine::names::ProjectName;
use orange_engine::wording::describe_bytes;
use serde::Serialize;

use super::table;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Alignment, Cell, Output, Style, Table, Text};

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
    /// Show how much disk space each worktree takes.
    #[arg(long)]
    pub size: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    workspaces: &'a [WorkspaceInfo],
    /// The bytes that orange's home takes, with the worktrees of all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    home_disk_bytes: Option<u64>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let mut workspaces = driver.workspaces.workspaces(project.as_ref())?;
    let mut home_disk_bytes = None;
    if args.size {
        workspaces
            .iter_mut()
            .for_each(WorkspaceInfo::count_disk_usage);
        home_disk_bytes = driver.workspaces.home_disk_usage();
    }
    if output.is_json() {
        let body = Body {
            workspaces: &workspaces,
            home_disk_bytes,
        };
        SHAPE.print(&body, output)?;
    } else if args.size {
        output.answer(&sizes(&workspaces).to_text(output.answer_width()))?;
        let home = home_disk_bytes.map_or_else(|| String::from("unknown"), describe_bytes);
        let mut total = Text::new();
        total.push(
            Style::Dim,
            &format!("orange's home, with all worktrees: {home}"),
        );
        total.end_line();
        output.narrate(&total);
    } else {
        output.answer(&table(&workspaces).to_text(output.answer_width()))?;
    }
    Ok(Exit::Ok)
}

fn sizes(workspaces: &[WorkspaceInfo]) -> Table<3> {
    let columns = [
        ("WORKSPACE", Alignment::Left),
        ("TASK", Alignment::Left),
        ("SIZE", Alignment::Right),
    ];
    let mut table = Table::new(columns, "PATH");
    for it in workspaces {
        let task = it.task.as_ref().map(ToString::to_string);
        let size = it.disk_bytes.map(describe_bytes);
        let row = [
            Cell::new(Style::Bold, it.name.as_str()),
            Cell::new(Style::Plain, task.as_deref().unwrap_or("-")),
            Cell::new(Style::Plain, size.as_deref().unwrap_or("-")),
        ];
        let path = it.path.display().to_string();
        table.push(row, Cell::new(Style::Plain, &path));
    }
    table
}
