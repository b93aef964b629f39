//! `orange harness unpark`.

use orange_config::Environment;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::parking::Parking;
use serde::Serialize;

use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.harness.unpark/1");

/// Use a parked harness again.
///
/// A harness is parked when an agent reports that it has no quota, is not logged in or cannot reach
/// its service. Run this after you have logged in, or if it works again earlier than the time shown
/// by `orange harness list`. Tasks that wait for the harness continue. If the next agent fails for
/// the same reason, the harness is parked again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The harness.
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    harness: &'a str,
    /// Why it was parked; absent if it was not.
    parking: Option<&'a Parking>,
    /// The tasks that can continue now.
    tasks: &'a [TaskId],
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let outcome = driver(environment)?
        .scheduler
        .unpark(&HarnessName::new(&args.name))?;
    if output.is_json() {
        let body = Body {
            harness: &args.name,
            parking: outcome.parking.as_ref(),
            tasks: &outcome.tasks,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, &args.name);
    let message = match &outcome.parking {
        None => String::from(": it was not parked"),
        Some(_) if outcome.tasks.is_empty() => String::from(": agents can be started on it again"),
        Some(_) => {
            let count = count_noun(outcome.tasks.len(), "task");
            format!(": agents can be started on it again; {count} can continue")
        }
    };
    text.push(Style::Plain, &message);
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}
