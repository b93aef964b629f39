//! `orange job remove`.

use orange_config::Environment;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.job.remove/1");

/// Remove a job.
///
/// Its tasks stay. The rest of `jobs.toml` stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The name of the job that was removed.
    name: &'a str,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    driver.requests.remove_job(&args.job)?;
    if output.is_json() {
        return SHAPE.print(&Body { name: &args.job }, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, &args.job);
    text.push(Style::Plain, ": removed; its tasks stay");
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}
