//! `orange task cancel`.

use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::driving::{Target, Wanted, ask};
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::config::Environment;
use crate::output::Output;

/// Give a task up.
///
/// Its agents are ended and its worktree is given back. Commits stay on their branch, and what is
/// not committed is kept: `orange task restore` brings it back.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
}

/// Asks for it.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wanted = Wanted::plain(Ask::Verb(Verb::Cancel));
    ask(&args.target, wanted, environment, output)
}
