//! `orange workflow schema`.

use orange_engine::language::schema::SCHEMA;
use serde::Serialize;

use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<Body>("orange.workflow.schema/1");

/// Print a JSON Schema for editors.
///
/// With this schema, an editor completes and explains keys and values, and marks misspellings as
/// you type; `orange workflow check` finds the other mistakes. Save it once:
///
/// `orange workflow schema > ~/orange/workflow.schema.json`
///
/// Then begin each workflow in `~/orange/workflows` with this line:
///
/// `# yaml-language-server: $schema=../workflow.schema.json`
///
/// Do not use `--json` here: it wraps the schema in a result, under `json_schema`, which an editor
/// cannot read.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    json_schema: serde_json::Value,
}

pub fn run(output: &mut Output) -> Result<Exit, Error> {
    if output.is_json() {
        let body = Body {
            json_schema: serde_json::from_str(SCHEMA)?,
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer_exactly(SCHEMA.as_bytes())?;
    }
    Ok(Exit::Ok)
}
