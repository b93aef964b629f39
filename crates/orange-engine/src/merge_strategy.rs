//! How a branch is merged.

use serde::{Deserialize, Serialize};

/// How a branch is merged.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
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
pub enum MergeStrategy {
    /// A fast-forward if possible, else a merge commit.
    #[default]
    Auto,
    /// Fast-forward only.
    Ff,
    /// A merge commit.
    Merge,
    /// The branch's commits, replayed one by one.
    Rebase,
    /// One commit with all changes.
    Squash,
}

impl MergeStrategy {
    /// Every strategy, by its name.
    pub const ALL: [(&'static str, MergeStrategy); 5] = [
        ("auto", MergeStrategy::Auto),
        ("ff", MergeStrategy::Ff),
        ("merge", MergeStrategy::Merge),
        ("rebase", MergeStrategy::Rebase),
        ("squash", MergeStrategy::Squash),
    ];

    pub fn as_str(self) -> &'static str {
        let is_this = |(_, strategy): &&(&'static str, MergeStrategy)| *strategy == self;
        MergeStrategy::ALL
            .iter()
            .find(is_this)
            .map_or("", |(name, _)| name)
    }

    /// The strategy with this name.
    pub fn from_name(name: &str) -> Option<MergeStrategy> {
        let mut all = MergeStrategy::ALL.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, strategy)| *strategy)
    }
}
