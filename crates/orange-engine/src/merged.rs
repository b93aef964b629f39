//! The result of a merge: which commit is where.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{BranchName, CommitId};

/// How many files a message names.
const NAMED: usize = 5;

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(from = "WrittenMerged")]
pub struct Merged {
    /// The default branch's commit, which has the branch's.
    pub commit: CommitId,
    /// The branch's commit that was merged; histories of before do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// How the default branch got it.
    #[serde(skip_serializing_if = "Origin::is_this_merge")]
    pub origin: Origin,
    /// The branch that was moved to it; histories of before do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<BranchName>,
    /// The remote that has it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_to: Option<String>,
    /// The checkouts that are on that branch, and have its files now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forwarded: Vec<String>,
    /// What the task had besides that commit.
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

/// How the default branch got a commit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// By this merge.
    #[default]
    ThisMerge,
    /// By an earlier attempt at this merge, which was interrupted.
    EarlierAttempt,
    /// It had it before the merge was asked for.
    Before,
}

impl Origin {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes what it may skip by reference"
    )]
    fn is_this_merge(&self) -> bool {
        *self == Origin::ThisMerge
    }
}

/// What a task has besides the commit that is merged. All of it is kept.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct LeftOut {
    /// Commits of the branch after that commit.
    #[serde(default)]
    pub commits: u64,
    /// Files that are not committed.
    #[serde(default)]
    pub files: Vec<String>,
}

impl LeftOut {
    pub fn is_nothing(&self) -> bool {
        self.commits == 0 && self.files.is_empty()
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commits = match self.commits {
            0 => None,
            1 => Some(String::from("1 later commit")),
            count => Some(format!("{count} later commits")),
        };
        let shown = self.files.iter().take(NAMED);
        let mut names: Vec<String> = shown.map(|file| format!("`{file}`")).collect();
        let more = self.files.len().saturating_sub(NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        let names = names.join(", ");
        let files = match self.files.len() {
            0 => None,
            1 => Some(format!("1 uncommitted file ({names})")),
            count => Some(format!("{count} uncommitted files ({names})")),
        };
        let parts: Vec<String> = commits.into_iter().chain(files).collect();
        formatter.write_str(&parts.join(" and "))
    }
}

impl Merged {
    /// A merge of which only the commit is known.
    pub fn at(commit: CommitId) -> Merged {
        Merged {
            commit,
            head: None,
            origin: Origin::ThisMerge,
            into: None,
            pushed_to: None,
            forwarded: Vec::new(),
            left_out: LeftOut::default(),
        }
    }
}

impl fmt::Display for Merged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let merged = self.commit.short();
        let head = self.head.as_ref().map_or(merged, CommitId::short);
        let Some(into) = &self.into else {
            return write!(formatter, "merged as {merged}");
        };
        match self.origin {
            Origin::ThisMerge if head == merged => {
                write!(formatter, "merged as {merged} into `{into}`")?;
            }
            Origin::ThisMerge => {
                write!(formatter, "merged {head} as {merged} into `{into}`")?;
            }
            Origin::EarlierAttempt => write!(
                formatter,
                "{head} was in `{into}` already: an earlier attempt had merged it"
            )?,
            Origin::Before => write!(
                formatter,
                "{head} was in `{into}` already, before this merge was asked for"
            )?,
        }
        match &self.pushed_to {
            Some(remote) => write!(formatter, ", pushed to `{remote}`")?,
            None => formatter.write_str(", not pushed")?,
        }
        match self.forwarded.as_slice() {
            [] => write!(formatter, "; no checkout is on `{into}`")?,
            checkouts => write!(formatter, "; fast-forwarded `{}`", checkouts.join("`, `"))?,
        }
        if !self.left_out.is_nothing() {
            write!(formatter, "; left out: {}", self.left_out)?;
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
        head: Option<CommitId>,
        #[serde(default)]
        origin: Origin,
        #[serde(default)]
        into: Option<BranchName>,
        #[serde(default)]
        pushed_to: Option<String>,
        #[serde(default)]
        forwarded: Vec<String>,
        #[serde(default)]
        left_out: LeftOut,
    },
}

impl From<WrittenMerged> for Merged {
    fn from(written: WrittenMerged) -> Self {
        match written {
            WrittenMerged::Commit(commit) => Merged::at(commit),
            WrittenMerged::Whole {
                commit,
                head,
                origin,
                into,
                pushed_to,
                forwarded,
                left_out,
            } => Merged {
                commit,
                head,
                origin,
                into,
                pushed_to,
                forwarded,
                left_out,
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
            head: Some(CommitId::new("abc")),
            origin: Origin::ThisMerge,
            into: Some(BranchName::new("main")),
            pushed_to: Some(String::from("origin")),
            forwarded: vec![String::from("/tea")],
            left_out: LeftOut {
                commits: 2,
                files: vec![String::from("notes")],
            },
        };
        assert_eq!(
            new.to_string(),
            "merged as abc into `main`, pushed to `origin`; fast-forwarded `/tea`; left out: 2 later \
             commits and 1 uncommitted file (`notes`)"
        );
        let new = EffectOutcome::Merged(new);
        let written = serde_json::to_string(&new).unwrap();
        assert_eq!(
            serde_json::from_str::<EffectOutcome>(&written).unwrap(),
            new
        );
    }
}
