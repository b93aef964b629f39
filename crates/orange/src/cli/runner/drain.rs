//! `orange runner drain`.

use orange_config::Environment;

use super::print;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Take no more tasks.
///
/// Tasks that have agents are finished here; a task goes back to the server as soon as it needs no
/// machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take tasks again.
    #[arg(long)]
    pub undo: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.drain_runner(!args.undo)?;
    let text = if args.undo {
        "the runner takes tasks again"
    } else {
        "the runner takes no more tasks"
    };
    print(&driver, text, output)
}
