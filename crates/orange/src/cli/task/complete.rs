//! `orange task complete`.

use orange_config::Environment;
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::request::driving::{Target, Wanted, ask};
use crate::output::Output;

/// Say that the work is complete.
///
/// Takes the edge that the workflow names under `verbs: complete`, if its gates hold.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wanted = Wanted::plain(Ask::Verb(Verb::Complete));
    ask(&args.target, wanted, environment, output)
}
