//! `orange harness unpark`.

use orange_config::Environment;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::parking::Parking;
use serde::Serialize;

use crate::cli::answer::words::counted;
use crate::cli::request::driving::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.harness.unpark/1");

/// Use a parked harness again.
///
/// After you have logged in, or when it has quota earlier than it said. Whatever waits for the
/// harness goes on; if it still cannot be used, the next agent that ends so parks it again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The harness.
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    harness: &'a str,
    /// Why nothing was started on it; nothing when it was not parked.
    was: Option<&'a Parking>,
    /// The tasks for which something is to be done now.
    tasks: &'a [TaskId],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let unparked = driver(environment)?
        .scheduler
        .unpark(&HarnessName::new(&args.name))?;
    if output.is_json() {
        let body = Body {
            harness: &args.name,
            was: unparked.was.as_ref(),
            tasks: &unparked.tasks,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, &args.name);
    let told = match &unparked.was {
        None => String::from(": it was not parked"),
        Some(_) if unparked.tasks.is_empty() => String::from(": agents can be started on it again"),
        Some(_) => {
            let count = counted(unparked.tasks.len(), "task");
            format!(": agents can be started on it again; {count} may go on")
        }
    };
    text.push(Style::Plain, &told);
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}
