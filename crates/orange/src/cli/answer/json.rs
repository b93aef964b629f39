//! Answers that programs read: under the name and version of their shape.

use serde::Serialize;

/// An answer under the name and version of its shape.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Answer<Body> {
    /// The name of the shape and its version, such as `orange.workflow.list/1`.
    pub schema: &'static str,
    /// What the command has to say.
    #[serde(flatten)]
    pub body: Body,
}

impl<Body: Serialize> Answer<Body> {
    /// The answer as text, with a line end.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
