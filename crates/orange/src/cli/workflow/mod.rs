//! `orange workflow`: the lifecycles of tasks, and whether they are sound.

pub(super) mod check;
pub(super) mod diff;
mod finding;
pub(super) mod graph;
pub(super) mod list;
pub(super) mod new;
mod problem;
pub(super) mod schema;
pub(super) mod show;
pub(super) mod simulate;
mod source;
mod target;

use clap::Subcommand;

use crate::cli::{Error, Exit};
use crate::output::Output;
use orange_config::Environment;

/// List, show, draw, check, simulate, compare and create workflows.
///
/// A workflow is one YAML file: states, transitions, gates, hooks, exit rules and prompts.
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Graph(graph::Args),
    Check(check::Args),
    Simulate(simulate::Args),
    Diff(diff::Args),
    New(new::Args),
    Schema(schema::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::List(_) => list::run(environment, output),
            Command::Show(args) => show::run(args, environment, output),
            Command::Graph(args) => graph::run(args, environment, output),
            Command::Check(args) => check::run(args, environment, output),
            Command::Simulate(args) => simulate::run(args, environment, output),
            Command::Diff(args) => diff::run(args, environment, output),
            Command::New(args) => new::run(args, environment, output),
            Command::Schema(_) => schema::run(output),
        }
    }
}
