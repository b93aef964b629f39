//! What a merge came to: which commit is where.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{BranchName, CommitId};

/// How many digits of a commit's name a person is shown; git knows it by them.
const SHORT: usize = 12;

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(from = "WrittenMerged")]
pub struct Merged {
    /// The commit that has the branch.
    pub commit: CommitId,
    /// The branch that was moved to it; histories of before do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<BranchName>,
    /// The remote that has it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_to: Option<String>,
    /// The checkouts that are on that branch, and have its files now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwarded: Vec<String>,
}

impl Merged {
    /// Nothing is known but the commit.
    pub fn at(commit: CommitId) -> Merged {
        Merged {
            commit,
            into: None,
            pushed_to: None,
            forwarded: Vec::new(),
        }
    }
}

impl fmt::Display for Merged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.as_str();
        let short = commit.get(..SHORT).unwrap_or(commit);
        write!(formatter, "merged as {short}")?;
        if let Some(into) = &self.into {
            write!(formatter, " into `{into}`")?;
            match &self.pushed_to {
                Some(remote) => write!(formatter, ", pushed to `{remote}`")?,
                None => formatter.write_str(", not pushed")?,
            }
            match self.forwarded.as_slice() {
                [] => write!(formatter, "; no checkout is on `{into}`")?,
                checkouts => write!(formatter, "; forwarded `{}`", checkouts.join("`, `"))?,
            }
        }
        Ok(())
    }
}

/// A merge as histories have it: once they named the commit alone.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum WrittenMerged {
    Commit(CommitId),
    Whole {
        commit: CommitId,
        #[serde(default)]
        into: Option<BranchName>,
        #[serde(default)]
        pushed_to: Option<String>,
        #[serde(default)]
        forwarded: Vec<String>,
    },
}

impl From<WrittenMerged> for Merged {
    fn from(written: WrittenMerged) -> Self {
        match written {
            WrittenMerged::Commit(commit) => Merged::at(commit),
            WrittenMerged::Whole {
                commit,
                into,
                pushed_to,
                forwarded,
            } => Merged {
                commit,
                into,
                pushed_to,
                forwarded,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::EffectOutcome;

    #[test]
    fn a_merge_is_read_as_it_was_written_once_and_as_it_is_now() {
        let old: EffectOutcome = serde_json::from_str(r#"{"merged":"abc"}"#).unwrap();
        assert_eq!(old, EffectOutcome::Merged(Merged::at(CommitId::new("abc"))));
        let new = Merged {
            commit: CommitId::new("abc"),
            into: Some(BranchName::new("main")),
            pushed_to: Some(String::from("origin")),
            forwarded: vec![String::from("/tea")],
        };
        assert_eq!(
            new.to_string(),
            "merged as abc into `main`, pushed to `origin`; forwarded `/tea`"
        );
        let new = EffectOutcome::Merged(new);
        let written = serde_json::to_string(&new).unwrap();
        assert_eq!(
            serde_json::from_str::<EffectOutcome>(&written).unwrap(),
            new
        );
    }
}
