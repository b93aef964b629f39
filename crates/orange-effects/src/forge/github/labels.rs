//! Creates, adds and removes labels.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use super::Repository;
use crate::forge::client::encode;
use crate::forge::error::ForgeError;
use crate::forge::redact::Outbound;

#[derive(Serialize)]
struct NewLabel<'a> {
    name: &'a Outbound,
    color: &'a str,
    description: &'a Outbound,
}

#[derive(Serialize)]
struct AddedLabels<'a> {
    labels: &'a [Outbound],
}

#[derive(Deserialize)]
pub(super) struct LabelAnswer {
    pub(super) name: String,
}

impl Repository<'_> {
    /// The name of a label as the repository writes it.
    pub fn fetch_label(&mut self, name: &str) -> Result<String, ForgeError> {
        let path = self.path(&format!("/labels/{}", encode(name)));
        Ok(self.client.fetch::<LabelAnswer>(&path)?.value.name)
    }

    /// Creates a label; an existing one stays as it is.
    pub fn ensure_label(
        &mut self,
        name: &Outbound,
        color: &str,
        description: &Outbound,
    ) -> Result<(), ForgeError> {
        let path = self.path("/labels");
        let body = NewLabel {
            name,
            color,
            description,
        };
        match self.client.write::<IgnoredAny>(Method::POST, &path, &body) {
            Ok(_) => Ok(()),
            Err(error) if error.is_already_there() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds labels to an issue or pull request.
    pub fn add_labels(&mut self, number: u64, labels: &[Outbound]) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/{number}/labels"));
        let body = AddedLabels { labels };
        self.client.write_silent(Method::POST, &path, Some(&body))
    }

    /// Removes a label from an issue. The error for a label that the issue does not have is the
    /// same as for an issue that the token may not see, so the caller has to read the issue.
    pub fn remove_label(&mut self, number: u64, label: &str) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/{number}/labels/{}", encode(label)));
        self.client.write_silent(Method::DELETE, &path, None::<&()>)
    }
}
