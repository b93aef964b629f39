//! Short forms of the everyday task commands, such as `orange merge`.

use clap::Subcommand;
use orange_config::Environment;

use super::{attach, cancel, create, diff, list, logs, merge, verbs, why};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// The everyday commands without `task`.
#[derive(Debug, Subcommand)]
pub enum Short {
    New(Box<create::Args>),
    Ls(list::Args),
    Attach(attach::Args),
    Diff(diff::Args),
    Why(why::Args),
    Logs(logs::Args),
    Tell(verbs::Tell),
    Merge(merge::Args),
    Cancel(cancel::Args),
}

/// Every short form and the name of the task command it runs.
pub const SHORT_FORMS: [(&str, &str); 9] = [
    ("new", "create"),
    ("ls", "list"),
    ("attach", "attach"),
    ("diff", "diff"),
    ("why", "why"),
    ("logs", "logs"),
    ("tell", "tell"),
    ("merge", "merge"),
    ("cancel", "cancel"),
];

impl Short {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Short::New(args) => create::run(args, environment, output),
            Short::Ls(args) => list::run(args, environment, output),
            Short::Attach(args) => attach::run(args, environment, output),
            Short::Diff(args) => diff::run(args, environment, output),
            Short::Why(args) => why::run(args, environment, output),
            Short::Logs(args) => logs::run(args, environment, output),
            Short::Tell(args) => verbs::tell(args, environment, output),
            Short::Merge(args) => merge::run(args, environment, output),
            Short::Cancel(args) => cancel::run(args, environment, output),
        }
    }
}
