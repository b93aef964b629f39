//! The description of the web API, from commands and shapes.

use orange_web::{ShapeSchema, document};

use super::help::commands;
use super::schema;
use crate::cli::{Error, Exit};

/// The document.
pub fn text() -> Result<String, Error> {
    let shapes = schema::ALL.iter().map(|shape| ShapeSchema {
        name: shape.name,
        schema: shape.schema(),
    });
    let shapes: Vec<ShapeSchema> = shapes.collect();
    let program = commands();
    let about = |command: &str| {
        let mut words = command.split(' ');
        let found = words.try_fold(&program, |found, word| found.find_subcommand(word));
        let about = found.and_then(|it| it.get_about());
        about.map(ToString::to_string).unwrap_or_default()
    };
    let document = document(env!("CARGO_PKG_VERSION"), &shapes, about);
    let document =
        document.map_err(|error| Error::new(Exit::Unexpected, "system-failed", error))?;
    Ok(serde_json::to_string_pretty(&document)?)
}
