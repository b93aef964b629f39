//! An issue of the forge, and what happened to it.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::account::Account;
use crate::time::Timestamp;

/// The issue that a task was created for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct IssueLink {
    /// Its number.
    pub number: u64,
    /// The forge's own id, which survives a renamed repository.
    pub id: String,
    /// Where to read it.
    pub url: String,
    /// The text that the task was created for.
    pub revision: Revision,
}

impl fmt::Display for IssueLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "issue #{}", self.number)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub id: String,
    pub number: u64,
    pub title: String,
    pub body: String,
    /// Absent when the account was deleted.
    pub author: Option<Account>,
    pub is_open: bool,
    /// The forge lists pull requests as issues too.
    pub is_pull_request: bool,
    pub labels: Vec<String>,
    pub updated: Timestamp,
}

/// One revision of the text of an issue.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Revision(String);

impl Revision {
    /// Reads a stored revision.
    pub fn from_text(text: &str) -> Revision {
        Revision(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Issue {
    /// The revision of title and body.
    pub fn revision(&self) -> Revision {
        Revision(digest([self.title.as_str(), self.body.as_str()]))
    }

    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|it| is_same_label(it, label))
    }
}

/// The forge compares labels without regard to case.
pub fn is_same_label(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueEvent {
    pub kind: IssueEventKind,
    /// Absent when the account was deleted.
    pub actor: Option<Account>,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueEventKind {
    Labeled(String),
    Unlabeled(String),
    Renamed,
    Transferred,
    Closed,
    Reopened,
    Other,
}

/// The digest of several texts. Each is hashed with its length, so that moving text from one part
/// to the next changes the digest.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::new();
    for byte in hash.finalize().iter().take(16) {
        let _never_fails = write!(text, "{byte:02x}");
    }
    text
}
