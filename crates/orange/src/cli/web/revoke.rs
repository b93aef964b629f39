//! `orange web revoke`.

use orange_config::Environment;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// Revoke a device.
///
/// Its token is refused from now on, and its open event streams end within a second. A code that
/// was not used yet can no longer be used either.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name of the device.
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.web.revoke/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    /// The device that was revoked.
    revoked: &'a str,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    driver(environment)?.web.revoke(&args.name)?;
    let body = Body {
        revoked: &args.name,
    };
    if output.is_json() {
        return SHAPE.print(&body, output);
    }
    let text = format!("revoked {}", args.name);
    output.answer(&Text::line(Style::Plain, &text))?;
    Ok(Exit::Ok)
}
