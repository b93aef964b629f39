//! `orange sandbox-attempts`: what a trial runs inside.

use orange_config::Environment;
use orange_driver::{Targets, make_attempts};

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Try to get out of a sandbox, and print what succeeded.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to attack, as JSON.
    #[arg(value_name = "TARGETS")]
    pub targets: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let targets: Targets = serde_json::from_str(&args.targets)?;
    let results = make_attempts(&targets, environment);
    let text = serde_json::to_string(&results)? + "\n";
    output.answer_exactly(text.as_bytes())?;
    Ok(Exit::Ok)
}
