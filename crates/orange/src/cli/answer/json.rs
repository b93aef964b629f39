//! Answers that programs read: versioned, and one shape for errors.

use serde::Serialize;

use crate::cli::error::Error;

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

/// The body of an answer that is an error.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ErrorBody {
    error: ErrorFields,
}

/// An error as a program reads it.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ErrorFields {
    code: &'static str,
    message: String,
    details: serde_json::Value,
    hints: Vec<String>,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        Self {
            error: ErrorFields::from(error),
        }
    }
}

impl From<&Error> for ErrorFields {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            details: error.details(),
            hints: error.hints(),
        }
    }
}
