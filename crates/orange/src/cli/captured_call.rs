//! Runs a command for a server: in this process, without a terminal.

use std::ffi::OsString;

use orange_config::Environment;
use orange_driver::is_inside;

use super::arguments::{Arguments, EarlyExit};
use super::sandbox_call;
use crate::cli::{Dashboard, Error, Exit};
use crate::output::Output;

/// Runs the command as the command line would, and collects its answer in JSON.
pub fn run(words: &[OsString], environment: &Environment) -> (Exit, Vec<u8>) {
    let mut output = Output::captured();
    let exit = answer(words, environment, &mut output).unwrap_or_else(|error| {
        // What was collected before the error is no answer.
        output = Output::captured();
        error.report(&mut output)
    });
    (exit, output.into_captured())
}

fn answer(
    words: &[OsString],
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let arguments = Arguments::parse(words, None).map_err(|error| match error {
        EarlyExit::Usage(error) => error,
        EarlyExit::Help(_) => Error::usage("this is no command"),
    })?;
    let command = arguments.command.as_ref();
    if is_inside(environment) && !sandbox_call::is_local(command) {
        return sandbox_call::run(command, words, environment, output);
    }
    let command = command.ok_or_else(|| Error::usage("this is no command"))?;
    command.run(no_dashboard(), environment, output)
}

/// Servers never open the dashboard.
fn no_dashboard() -> Dashboard {
    |_, _, _, _, _| Err(String::from("there is no terminal"))
}
