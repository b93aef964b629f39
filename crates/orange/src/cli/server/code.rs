//! `orange server code`.

use orange_server::{DEFAULT_ORG, FIRST_ADMIN};
use serde::Serialize;

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// Print a one-time code for an admin.
///
/// The first server prints such a code by itself. Use this when it was lost, or for the first admin
/// of another organisation. The code works once and for 24 hours.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The database, such as `postgres://user@host:5432/name`.
    #[arg(long, value_name = "URL")]
    pub database: String,
    /// The organisation of the admin.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ORG)]
    pub org: String,
    /// The name of the admin.
    #[arg(long, value_name = "NAME", default_value = FIRST_ADMIN)]
    pub person: String,
}

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.server.code/1");

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "ServerCodeBody")]
struct Body<'a> {
    code: &'a str,
}

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let code = orange_server::admin_code(&args.database, &args.org, &args.person)?;
    let code = code.reveal();
    if output.is_json() {
        return SHAPE.print(&Body { code }, output);
    }
    output.answer(&Text::line(Style::Plain, code))?;
    Ok(Exit::Ok)
}
