//! Runs a command for a request: in this process, without a terminal.

use orange_config::Environment;
use orange_web::{Call, Reply};

use super::arguments::{Arguments, EarlyExit};
use crate::cli::{Dashboard, Error, Exit};
use crate::output::Output;

/// Runs the command as the command line would, and collects its answer in JSON.
pub fn run(call: &Call, environment: &Environment) -> Reply {
    let mut output = Output::captured();
    let exit = answer(call, environment, &mut output).unwrap_or_else(|error| {
        // What was collected before the error is no answer.
        output = Output::captured();
        error.report(&mut output)
    });
    Reply {
        exit: exit.code(),
        answer: output.into_captured(),
    }
}

fn answer(call: &Call, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let arguments = Arguments::parse(&call.words, None).map_err(|error| match error {
        EarlyExit::Usage(error) => error,
        EarlyExit::Help(_) => Error::usage("this is no command"),
    })?;
    let command = arguments.command.as_ref();
    let command = command.ok_or_else(|| Error::usage("this is no command"))?;
    command.run(no_dashboard(), environment, output)
}

/// Operations never open the dashboard.
fn no_dashboard() -> Dashboard {
    |_, _, _, _, _| Err(String::from("there is no terminal"))
}
