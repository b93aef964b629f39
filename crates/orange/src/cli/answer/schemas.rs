//! Prints all JSON answers; each has a shape with a published schema.
//!
//! `docs/schemas` holds the schemas; a test compares them with the code, and every JSON answer that
//! a test reads is validated against them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{Error, Exit};
use crate::output::{Output, escape_json};

/// A kind of JSON answer.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name and version, such as `orange.task.list/1`.
    pub name: &'static str,
    /// Generates the schema of the body.
    body: fn() -> Schema,
}

impl Shape {
    /// The shape of an answer with this body.
    pub const fn of<Body: JsonSchema>(name: &'static str) -> Shape {
        Shape {
            name,
            body: || {
                let settings = SchemaSettings::draft2020_12().for_serialize();
                settings.into_generator().into_root_schema_for::<Body>()
            },
        }
    }

    /// Prints an answer of this shape, indented so that people can read it too.
    pub fn print(&self, body: &impl Serialize, output: &mut Output) -> Result<Exit, Error> {
        let text = escape_json(serde_json::to_string_pretty(&self.answer(body))?) + "\n";
        output.answer_exactly(text.as_bytes())?;
        Ok(Exit::Ok)
    }

    /// Prints one answer of a stream, on one line.
    pub fn print_line(&self, body: &impl Serialize, output: &mut Output) -> Result<(), Error> {
        let text = escape_json(serde_json::to_string(&self.answer(body))?) + "\n";
        Ok(output.answer_exactly(text.as_bytes())?)
    }

    fn answer<'a, Body>(&self, body: &'a Body) -> Answer<'a, Body> {
        Answer {
            schema: self.name,
            body,
        }
    }

    pub fn schema(&self) -> Value {
        let mut schema = (self.body)();
        schema.insert("title".to_owned(), self.name.into());
        let mut schema = schema.to_value();
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert("schema".to_owned(), json!({ "const": self.name }));
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, "schema".into());
        }
        schema
    }
}

#[derive(Serialize)]
struct Answer<'a, Body> {
    schema: &'static str,
    #[serde(flatten)]
    body: &'a Body,
}
