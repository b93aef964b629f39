//! `orange note add`.

use orange_config::Environment;

use super::{print_note, state_word};
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Write a note down.
///
/// In an agent's session, the note is a proposal about the project of its task, which waits for the
/// user.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The note: one line, at most 500 characters.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref();
    let note = driver.requests.add_note(&args.text, project)?;
    print_note(&note, state_word(&note), output)
}
