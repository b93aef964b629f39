//! `orange note reject`.

use orange_config::Environment;

use super::print_note;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Reject a note, or remove an accepted one.
///
/// Later runs no longer see the note.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of the note.
    #[arg(value_name = "NUMBER")]
    pub number: u64,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let note = driver.requests.reject_note(args.number)?;
    print_note(&note, "removed", output)
}
