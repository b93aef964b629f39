//! `orange detach`: starts a program that outlives its caller.

use std::ffi::OsString;

use orange_config::Environment;
use orange_driver::{Invocation, create_session};

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Start a program in its own session, and print its process id.
///
/// orange calls this itself; you do not need it.
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
    create_session().map_err(Error::not_started)?;
    let pid = Invocation::new(program, environment.variables().clone())
        .arguments(arguments)
        .start_unattended()
        .map_err(Error::not_started)?;
    output.answer_exactly(format!("{pid}\n").as_bytes())?;
    Ok(Exit::Ok)
}
