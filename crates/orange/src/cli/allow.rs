//! `orange allow`.

use orange_config::Environment;
use orange_engine::permission::PermissionOutcome;

use super::request::permission;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Allow what an agent asks for, once.
///
/// An agent with reduced permissions asks before it does something that it has no permission for.
/// `orange attention` shows each request in full, with its id. When you allow a request, the agent
/// continues immediately; it asks again the next time. If the request is not answered within
/// `permissions.wait`, the agent asks in its own terminal.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request's id.
    #[arg(value_name = "REQUEST")]
    pub request: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    permission::answer(
        &args.request,
        &PermissionOutcome::Allowed,
        environment,
        output,
    )
}
