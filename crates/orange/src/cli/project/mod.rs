//! `orange project`: the repositories that tasks work in.

pub(super) mod add;
pub(super) mod list;
pub(super) mod remove;
pub(super) mod show;
pub(super) mod update;

use clap::Subcommand;
use orange_config::Environment;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Manage the repositories that tasks work in.
#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Update(Box<update::Args>),
    Remove(remove::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Add(args) => add::run(args, environment, output),
            Command::List(_) => list::run(environment, output),
            Command::Show(args) => show::run(args, environment, output),
            Command::Update(args) => update::run(args, environment, output),
            Command::Remove(args) => remove::run(args, environment, output),
        }
    }
}
