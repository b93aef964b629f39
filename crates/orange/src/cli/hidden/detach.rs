//! `orange detach`: starts a program that outlives its caller.

use std::ffi::OsString;

use orange_config::Environment;
use orange_driver::{Invocation, lead_session};

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Start a program in a session of its own, and print its process number.
///
/// orange calls this for itself; nobody else needs it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub command: Vec<OsString>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (program, arguments) = match args.command.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (OsString::new(), &[][..]),
    };
    lead_session().map_err(Error::not_started)?;
    let pid = Invocation::new(program, environment.variables().clone())
        .arguments(arguments)
        .leave_behind()
        .map_err(Error::not_started)?;
    output.answer_exactly(format!("{pid}\n").as_bytes())?;
    Ok(Exit::Ok)
}
