//! Verbs: words of the command line that find their edge by name.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::workflow::Target;

/// Where each verb leads: the first target with an open edge from the present status.
pub type Verbs = BTreeMap<Verb, Vec<Target>>;

/// A word that means "take the edge that is usual for this".
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Start the work.
    Spawn,
    /// Merge the branch.
    Merge,
    /// Give the task up.
    Cancel,
    /// Say the work is complete.
    Complete,
    /// Say the work is stuck.
    Stuck,
    /// Send the work back with a message.
    RequestChanges,
    /// Begin again.
    Retry,
    /// Begin again after a blocker.
    Unblock,
}

impl Verb {
    /// Every verb, by the name a file uses.
    pub const ALL: [(&'static str, Verb); 8] = [
        ("spawn", Verb::Spawn),
        ("merge", Verb::Merge),
        ("cancel", Verb::Cancel),
        ("complete", Verb::Complete),
        ("stuck", Verb::Stuck),
        ("request-changes", Verb::RequestChanges),
        ("retry", Verb::Retry),
        ("unblock", Verb::Unblock),
    ];

    /// The name a file and the command line use.
    pub fn as_str(self) -> &'static str {
        Verb::ALL
            .iter()
            .find(|(_, verb)| *verb == self)
            .map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
