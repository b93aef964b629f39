//! `orange workspace`: the pool of worktrees that tasks work in.

pub(super) mod gc;
pub(super) mod init;
pub(super) mod list;
pub(super) mod remove;

use clap::Subcommand;
use orange_config::Environment;
use orange_driver::WorkspaceInfo;

use crate::cli::{Error, Exit};
use crate::output::{Alignment, Cell, Output, Style, Table};

/// Manage the worktrees that tasks use.
///
/// Each project has a pool of them, created when needed and reused. Worktrees that orange did not
/// create are never touched.
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Init(init::Args),
    Gc(gc::Args),
    Remove(remove::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::List(args) => list::run(args, environment, output),
            Command::Init(args) => init::run(args, environment, output),
            Command::Gc(args) => gc::run(args, environment, output),
            Command::Remove(args) => remove::run(args, environment, output),
        }
    }
}

fn table(workspaces: &[WorkspaceInfo]) -> Table<4> {
    let columns = ["WORKSPACE", "STATE", "TASK", "PORTS"].map(|name| (name, Alignment::Left));
    let mut table = Table::new(columns, "PATH");
    for it in workspaces {
        let (style, state) = match it.state {
            "bound" if !it.exists => (Style::Bad, "bound, worktree gone"),
            "retired" => (Style::Bad, it.state),
            _ => (Style::Plain, it.state),
        };
        let task = it.task.as_ref().map(ToString::to_string);
        let row = [
            Cell::new(Style::Bold, it.name.as_str()),
            Cell::new(style, state),
            Cell::new(Style::Plain, task.as_deref().unwrap_or("-")),
            Cell::new(
                Style::Plain,
                &it.port_offset
                    .map_or_else(String::new, |it| format!("+{it}")),
            ),
        ];
        let path = it.path.display().to_string();
        table.push(row, Cell::new(Style::Plain, &path));
    }
    table
}
