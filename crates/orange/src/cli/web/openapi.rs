//! `orange web openapi`.

use super::Program;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Print the description of the web API.
///
/// It is a document in `OpenAPI` 3.1. `orange web` serves the same at `/api/v1/openapi.json`.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(program: Program, output: &mut Output) -> Result<Exit, Error> {
    let text = (program.describe)()? + "\n";
    output.answer_exactly(text.as_bytes())?;
    Ok(Exit::Ok)
}
