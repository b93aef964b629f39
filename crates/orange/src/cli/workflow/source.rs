//! The workflow that the JSON of a command describes.

use orange_config::{Origin, Source};
use serde::Serialize;

#[derive(Serialize, schemars::JsonSchema)]
pub struct SourceBody<'a> {
    name: &'a str,
    from: &'static str,
    path: Option<String>,
}

impl<'a> From<&'a Source> for SourceBody<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            name: &source.name,
            from: match source.origin {
                Origin::Shipped(_) => "shipped",
                Origin::Home { .. } => "home",
                Origin::Policy { .. } => "policy",
                Origin::File(_) => "file",
                Origin::Stdin => "stdin",
            },
            path: source.path().map(|path| path.display().to_string()),
        }
    }
}
