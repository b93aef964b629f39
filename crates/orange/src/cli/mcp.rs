//! `orange mcp`.

use std::ffi::OsString;

use orange_config::Environment;
use orange_driver::{ToolCaller, is_inside};
use orange_mcp::{Audience, Backend, Reply, ServeError, serve};

use super::request::requests::driver;
use super::schema;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Serve the tools for agents over MCP.
///
/// Speaks the Model Context Protocol over stdin and stdout, until the client closes the connection.
/// Agents start it themselves; `orange install` registers it with those that can. The tools show
/// tasks, create them and write to their agents. They never merge, approve, cancel or delete, and
/// never answer a request for permission. In an agent's run they are about its own task. `docs/mcp.md`
/// explains them.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// What the server needs from the whole program. It is passed in, so that this file and the command
/// line do not depend on each other.
pub type RunCommand = fn(&[OsString], &Environment) -> (Exit, Vec<u8>);

pub fn run(
    run_command: RunCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Error> {
    if output.is_interactive() {
        let message = "cannot serve MCP at a terminal: a client has to start this";
        return Err(Error::new(Exit::Usage, "usage", message)
            .hint("register it with your agents with `orange install`"));
    }
    let directory = environment.directory().unwrap_or_default();
    // A home that cannot be used is reported now, not with the first call.
    if !is_inside(environment) {
        driver(environment)?;
    }
    let environment = environment.clone().of_server(directory);
    serve(backend(run_command, environment)).map_err(|error| match error {
        ServeError::NotStarted(_) => Error::not_started(error),
        ServeError::Protocol(_) => Error::new(Exit::ExternalFailed, "mcp-failed", error)
            .hint("update the agent that started `orange mcp`, or orange"),
    })?;
    Ok(Exit::Ok)
}

fn backend(run_command: RunCommand, environment: Environment) -> Backend {
    let callers = environment.clone();
    Backend {
        audience: Box::new(move || match caller(&callers) {
            Ok((audience, _)) => Ok(audience),
            Err(error) => Err(reply(&error)),
        }),
        call: Box::new(move |audience, words| match caller(&environment) {
            Ok((found, environment)) if found == *audience => Reply {
                answer: run_command(words, &environment).1,
            },
            Ok(_) => reply(&changed()),
            Err(error) => reply(&error),
        }),
        schema: Box::new(|name| {
            let mut shapes = schema::ALL.iter();
            shapes.find(|it| it.name == name).map(|it| it.schema())
        }),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The caller, and the environment in which its commands run.
fn caller(environment: &Environment) -> Result<(Audience, Environment), Error> {
    // The process outside of the sandbox knows the run.
    if is_inside(environment) {
        return Ok((Audience::Run { task: None }, environment.clone()));
    }
    Ok(match driver(environment)?.callers.tool_caller()? {
        ToolCaller::Assistant(environment) => (Audience::Assistant, environment),
        ToolCaller::Run { task, caller } => {
            let task = Some(task.as_str().to_owned());
            (Audience::Run { task }, caller)
        }
    })
}

/// The error of a call whose caller is no longer the one that the tool was chosen for.
fn changed() -> Error {
    let message = "cannot identify the caller: it has changed during the call";
    Error::new(Exit::Refused, "caller-unknown", message)
}

fn reply(error: &Error) -> Reply {
    let mut output = Output::captured();
    error.report(&mut output);
    Reply {
        answer: output.into_captured(),
    }
}
