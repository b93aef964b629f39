//! `orange task stuck`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::request::driving::{Target, Wanted, ask};
use crate::output::Output;

/// Say that the work is stuck.
///
/// Takes the edge that the workflow names under `verbs: stuck`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// What to say with it.
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wanted = Wanted {
        message: args.message.clone(),
        ..Wanted::plain(Ask::Verb(Verb::Stuck))
    };
    ask(&args.target, wanted, environment, output)
}
