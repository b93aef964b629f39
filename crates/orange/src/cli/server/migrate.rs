//! `orange server migrate`.

use serde::Serialize;

use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// Prepare or upgrade the database.
///
/// Creates the tables and functions of this version. Run it once before the first server starts,
/// and before servers of a newer version do. Nothing is lost, and servers of the version before
/// continue to work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The database, such as `postgres://user@host:5432/name`.
    #[arg(long, value_name = "URL")]
    pub database: String,
}

pub const SHAPE: Shape = Shape::of::<Body>("orange.server.migrate/1");

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "MigrateBody")]
struct Body {
    /// Whether the database is up to date now.
    migrated: bool,
}

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    orange_server::migrate(&args.database)?;
    if output.is_json() {
        return SHAPE.print(&Body { migrated: true }, output);
    }
    output.answer(&Text::line(Style::Plain, "the database is up to date"))?;
    Ok(Exit::Ok)
}
