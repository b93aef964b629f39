//! `orange task tell`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::role::Role;

use crate::cli::request::driving::{Target, Wanted, ask};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Tell an agent something.
///
/// The agent gets the message in its inbox, and a line in its terminal says so. The status stays
/// as it is; to send work back, use `orange task request-changes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Which agent; the one that the present status expects when left out.
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// What it is told.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required = true
    )]
    pub message: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let role = args.role.as_deref().map(Role::named);
    let wanted = Wanted {
        message: Some(args.message.clone()),
        ..Wanted::plain(Ask::Tell { role })
    };
    ask(&args.target, wanted, environment, output)
}
