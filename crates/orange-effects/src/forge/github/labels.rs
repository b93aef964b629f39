//! Labels: make them, set them and take them off.

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
struct LabelAnswer {
    name: String,
}

impl Repository<'_> {
    /// The name of a label as the repository writes it.
    pub fn fetch_label(&mut self, name: &str) -> Result<String, ForgeError> {
        let path = self.path(&format!("/labels/{}", encode(name)));
        Ok(self.client.fetch::<LabelAnswer>(&path)?.value.name)
    }

    /// Makes a label; one that exists stays as it is.
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

    /// Sets labels, beside those that are set.
    pub fn add_labels(&mut self, number: u64, labels: &[Outbound]) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/{number}/labels"));
        let body = AddedLabels { labels };
        self.client.write_silent(Method::POST, &path, Some(&body))
    }

    /// Takes a label off. A label that is not set gives the same error as an issue that the token
    /// may not see, so look at the issue.
    pub fn remove_label(&mut self, number: u64, label: &str) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/{number}/labels/{}", encode(label)));
        self.client.write_silent(Method::DELETE, &path, None::<&()>)
    }
}
