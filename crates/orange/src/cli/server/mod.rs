//! `orange server`: the log and the queue of a fleet.

pub(super) mod code;
pub(super) mod migrate;
pub(super) mod run;

use clap::Subcommand;
use orange_config::Environment;
use orange_server::{HostError, ServerError};

use super::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Serve a fleet of machines.
///
/// Several machines that work on the tasks of one team need a server; a single machine needs none.
/// The server keeps its data in PostgreSQL 15 or newer. `docs/server.md` explains how to run it.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Args),
    Migrate(migrate::Args),
    Code(code::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        driver(environment)?
            .callers
            .require_user("manage a server")?;
        match self {
            Command::Run(args) => run::run(args, environment, output),
            Command::Migrate(args) => migrate::run(args, output),
            Command::Code(args) => code::run(args, output),
        }
    }
}

impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        match &error {
            HostError::Server(ServerError::Tls(tls)) => {
                let hint = tls.hint();
                Error::new(Exit::Refused, "tls-unusable", error).hint(hint)
            }
            HostError::Server(ServerError::Database(_)) => {
                Error::new(Exit::ExternalFailed, "database-unusable", error)
                    .hint("prepare the database with `orange server migrate --database URL`")
            }
            HostError::Server(ServerError::NotBound { .. }) => {
                Error::new(Exit::Refused, "port-taken", error)
                    .hint("choose another address with `--listen ADDRESS:PORT`")
            }
            HostError::NotStarted(_) | HostError::NotRandom(_) => Error::not_started(error),
        }
    }
}
