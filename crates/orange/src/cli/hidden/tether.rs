//! `orange tether`: becomes a program that ends when its caller ends.

use std::ffi::OsString;

use orange_config::Environment;
use orange_driver::{Invocation, end_with_caller};

use crate::cli::{Error, Exit};

/// Become a program that ends when the caller ends.
///
/// orange calls this itself; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process id of the caller.
    pub caller: u32,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub command: Vec<OsString>,
}

pub fn run(args: &Args, environment: &Environment) -> Result<Exit, Error> {
    let (program, arguments) = match args.command.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (OsString::new(), &[][..]),
    };
    end_with_caller(args.caller).map_err(Error::not_started)?;
    let program = Invocation::new(program, environment.variables().clone()).arguments(arguments);
    Err(Error::not_started(program.exec(None)))
}
