//! `orange exec-run`: runs in a pane, then becomes the agent.

use std::path::PathBuf;

use orange_config::Environment;
use orange_driver::exec_run;

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Become the agent that a run file describes.
///
/// orange starts this in a pane; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run file, which only your user can read.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let error = exec_run(&args.file, environment, |line| {
        // The agent starts even if the pane is gone and this line cannot be printed.
        let _gone = output.answer_exactly(format!("{line}\n").as_bytes());
    });
    Err(Error::not_started(error))
}
