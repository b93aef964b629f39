//! `orange deny`.

use orange_config::Environment;
use orange_engine::permission::PermissionOutcome;

use super::request::permission;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Deny what an agent asks for.
///
/// `orange attention` shows each request in full, with its id. The agent gets your reason, and
/// continues without doing what it asked for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request's id.
    #[arg(value_name = "REQUEST")]
    pub request: String,
    /// Tell the agent why.
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let outcome = PermissionOutcome::Denied {
        reason: args.message.clone(),
    };
    permission::answer(&args.request, &outcome, environment, output)
}
