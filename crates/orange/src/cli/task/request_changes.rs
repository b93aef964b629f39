//! `orange task request-changes`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::request::driving::{Target, Wanted, ask};
use crate::output::Output;

/// Send the work back with a message.
///
/// The agent gets the message in its inbox; one that is gone is started again.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// What should be different.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required = true
    )]
    pub message: String,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wanted = Wanted {
        message: Some(args.message.clone()),
        ..Wanted::plain(Ask::Verb(Verb::RequestChanges))
    };
    ask(&args.target, wanted, environment, output)
}
