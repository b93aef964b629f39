//! `orange runner`: works on tasks of a fleet.

pub(super) mod drain;
pub(super) mod join;
pub(super) mod leave;
pub(super) mod run;
pub(super) mod status;

use clap::Subcommand;
use orange_config::Environment;
use orange_driver::Driver;
use orange_driver::fleet::RunnerStatus;
use serde::Serialize;

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// Let this machine work on the tasks of a fleet.
///
/// A fleet is several machines that work on the tasks of one team; a server keeps their log. A home
/// is independent or belongs to a fleet, never both.
#[derive(Debug, Subcommand)]
pub enum Command {
    Join(join::Args),
    Run(run::Args),
    Status(status::Args),
    Drain(drain::Args),
    Leave(leave::Args),
}

impl Command {
    pub fn run(&self, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
        match self {
            Command::Join(args) => join::run(args, environment, output),
            Command::Run(args) => run::run(args, environment, output),
            Command::Status(_) => status::run(environment, output),
            Command::Drain(args) => drain::run(args, environment, output),
            Command::Leave(_) => leave::run(environment, output),
        }
    }
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.runner/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// Whether this home belongs to a fleet.
    is_joined: bool,
    /// What its runner does.
    #[serde(skip_serializing_if = "Option::is_none")]
    runner: Option<RunnerStatus>,
}

/// Prints what happened, and in JSON what the runner does.
fn print(driver: &Driver, text: &str, output: &mut Output) -> Result<Exit, Error> {
    if output.is_json() {
        let body = Body {
            is_joined: true,
            runner: Some(driver.runner_status()?),
        };
        return SHAPE.print(&body, output);
    }
    answer(text, output)
}

fn answer(sentence: &str, output: &mut Output) -> Result<Exit, Error> {
    let mut text = Text::new();
    text.push(Style::Plain, sentence);
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}
