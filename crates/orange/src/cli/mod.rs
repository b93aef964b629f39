//! The command line: one file per command.

mod agent_event;
mod allow;
mod answer;
mod arguments;
mod attention;
mod budget;
#[cfg(any(feature = "mcp", feature = "web"))]
mod captured_call;
mod chat;
mod completions;
mod config;
mod dashboard;
mod demo;
mod deny;
mod doctor;
mod forge;
mod harness;
mod help;
mod hidden;
mod inbox;
mod install;
mod issue;
mod job;
mod log;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod note;
mod project;
mod rebuild;
mod report;
mod request;
mod runner;
mod sandbox;
mod sandbox_call;
mod schema;
mod serve;
#[cfg(feature = "server")]
mod server;
mod suggestion;
mod task;
mod uninstall;
mod usage;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "web")]
mod web_call;
#[cfg(feature = "web")]
mod web_description;
mod workflow;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use answer::error::{Error, hint_paragraph, narrate_hint, narrate_hint_apart, push_error};
use answer::exit::Exit;
use answer::schemas::Shape;
use arguments::{Arguments, EarlyExit};
use orange_config::{Environment, ORANGE_ROLE};
use orange_driver::{Driver, is_inside};
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::role::Role;

use crate::output::{Glyphs, Output, expect_zone_variable};

/// The function that shows the dashboard. `main.rs` passes it in, so that `cli` and `tui` do not
/// depend on each other. The arguments are the driver, the project of the current directory,
/// whether to show all projects, the tasks of the demo, and the output.
pub type Dashboard =
    fn(&Driver, Option<ProjectName>, bool, &[TaskId], &Output) -> Result<(), String>;

/// Runs the command that this process was started with.
pub fn main(dashboard: Dashboard) -> ExitCode {
    let size = terminal_size::terminal_size();
    let environment = Environment::read();
    let glyphs = Glyphs::of(environment.locale().as_deref());
    expect_zone_variable(environment.variable("TZ").is_some());
    let mut output = Output::new(size.map(|(width, _)| width.0.into()), glyphs);
    let typed: Vec<OsString> = std::env::args_os().collect();
    if completions::try_complete(&typed, &environment) {
        return Exit::Ok.into();
    }
    run(&typed, dashboard, &environment, &mut output).into()
}

fn run(
    typed: &[OsString],
    dashboard: Dashboard,
    environment: &Environment,
    output: &mut Output,
) -> Exit {
    let result = match Arguments::parse(typed, output.answer_width()) {
        Ok(arguments) => {
            if arguments.quiet {
                output.be_quiet();
            }
            if arguments.json {
                output.answer_in_json();
            }
            match &arguments.command {
                Some(_) if arguments.all => Err(misplaced_all_error()),
                command if is_inside(environment) && !sandbox_call::is_local(command.as_ref()) => {
                    sandbox_call::run(command.as_ref(), typed, environment, output)
                }
                Some(command) => command.run(dashboard, environment, output),
                None => dashboard::run(&arguments, dashboard, environment, output),
            }
        }
        Err(EarlyExit::Help(text)) => {
            let answered = output.answer(&text).map_err(Error::from);
            answered.map(|()| Exit::Ok)
        }
        Err(EarlyExit::Usage(_)) if is_inside(environment) && agent_event::is_hook_call(typed) => {
            Ok(Exit::Ok)
        }
        Err(EarlyExit::Usage(error)) if agent_event::is_hook_call(typed) => {
            agent_event::log_invalid_call(&error, environment);
            Ok(Exit::Ok)
        }
        Err(EarlyExit::Usage(error)) => {
            if arguments::asks_for_json(typed) {
                output.answer_in_json();
            }
            Err(error)
        }
    };
    let result = result.map_err(|error| name_command_for_user(error, typed, environment));
    result.unwrap_or_else(|error| error.report(output))
}

/// An error of the agent of `orange chat` also names the command that the user can run instead.
fn name_command_for_user(error: Error, typed: &[OsString], environment: &Environment) -> Error {
    let role = environment.variable(ORANGE_ROLE);
    let is_assistant = role.is_some_and(|role| role == Role::assistant().as_str());
    if !is_assistant || !error.is_user_only() {
        return error;
    }
    let words = typed
        .iter()
        .skip(1)
        .map(|word| quoted(&word.to_string_lossy()));
    let words: Vec<String> = words.collect();
    error.hint(format!("the user runs: orange {}", words.join(" ")))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@+,".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `--all` is rejected before a command, because it means something different to each command.
fn misplaced_all_error() -> Error {
    Error::usage("`--all` before a command is only for the dashboard")
        .hint("put it after the command: `orange task list --all`")
}
