//! `orange schema`.

use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::schemas::ALL;
use crate::output::{Output, Style, Text};

/// Print the JSON Schemas of answers.
///
/// Every answer with `--json` has a key `schema` that names its shape and version, such as
/// `orange.task.list/1`. Without a name every name is listed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name, with its version.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Prints the schema, or the names.
pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let Some(name) = &args.name else {
        let mut text = Text::new();
        for shape in ALL {
            text.push(Style::Plain, shape.name);
            text.end_line();
        }
        output.answer(&text)?;
        return Ok(Exit::Ok);
    };
    let found = ALL.iter().find(|shape| shape.name == name);
    let shape = found.ok_or_else(|| Error::SchemaNotFound { name: name.clone() })?;
    let schema = serde_json::to_string_pretty(&shape.schema())? + "\n";
    output.answer_exactly(schema.as_bytes())?;
    Ok(Exit::Ok)
}
