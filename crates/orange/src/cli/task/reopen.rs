//! `orange task reopen`.

use orange_config::Environment;
use orange_engine::input::RequestKind;

use crate::cli::request::requests::{RequestDraft, Seen};
use crate::cli::request::several::{Targets, ask_each};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Reopen cancelled tasks.
///
/// Each task continues in the status it was cancelled in: with its branch, with the uncommitted
/// work that was saved, and with a new agent if the status expects one. Limits apply as to any
/// other start. Merged tasks cannot be reopened.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    #[command(flatten)]
    pub seen: Seen,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let draft = RequestDraft {
        if_version: args.seen.if_version,
        ..RequestDraft::plain(RequestKind::Reopen)
    };
    ask_each(&args.targets, &draft, environment, output)
}
