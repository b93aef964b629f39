//! `orange job next`.

use orange_config::Environment;
use orange_engine::time::Timestamp;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.job.next/1");

/// Show when a job is due next.
///
/// In your time zone; with `--json` in UTC.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
    /// How many times to show, at most 100.
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub count: usize,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The name of the job.
    name: &'a str,
    /// When it is due, in order.
    next: Vec<Timestamp>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let next = driver.requests.next_instants(&args.job, args.count)?;
    if output.is_json() {
        let name = &args.job;
        return SHAPE.print(&Body { name, next }, output);
    }
    let mut text = Text::new();
    for instant in next {
        text.push(Style::Plain, &local_time(instant));
        text.end_line();
    }
    output.answer(&text)?;
    Ok(Exit::Ok)
}
