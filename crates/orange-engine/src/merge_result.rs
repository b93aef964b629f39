//! The result of a merge: which commit is where.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{BranchName, CommitId};

/// How many files a message names.
const MAX_NAMED_FILES: usize = 5;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(from = "RecordedMerge")]
pub struct MergeResult {
    /// The default branch's commit that contains the merged one.
    pub commit: CommitId,
    /// The branch's commit that was merged; absent in old histories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// How the default branch got the merged commit.
    #[serde(skip_serializing_if = "Origin::is_this_merge")]
    pub origin: Origin,
    /// The branch that was merged into; absent in old histories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<BranchName>,
    /// The remote it was pushed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_to: Option<String>,
    /// The checkouts of that branch that were fast-forwarded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fast_forwarded: Vec<String>,
    /// Work of the task that the merge left out.
    #[serde(skip_serializing_if = "OmittedWork::is_empty")]
    pub left_out: OmittedWork,
    /// What the user still has to do about what was merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How the default branch got a commit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// This merge.
    #[default]
    ThisMerge,
    /// An earlier, interrupted attempt at this merge.
    EarlierAttempt,
    /// The default branch had the commit before the merge was requested.
    AlreadyMerged,
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

/// Work of a task that is not part of the merged commit. All of it is kept.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct OmittedWork {
    /// Commits of the branch after the merged one.
    #[serde(default)]
    pub commits: u64,
    /// Files that are not committed.
    #[serde(default)]
    pub files: Vec<String>,
}

impl OmittedWork {
    pub fn is_empty(&self) -> bool {
        self.commits == 0 && self.files.is_empty()
    }
}

impl fmt::Display for OmittedWork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commits = match self.commits {
            0 => None,
            1 => Some(String::from("1 later commit")),
            count => Some(format!("{count} later commits")),
        };
        let shown = self.files.iter().take(MAX_NAMED_FILES);
        let mut names: Vec<String> = shown.map(|file| format!("`{file}`")).collect();
        let more = self.files.len().saturating_sub(MAX_NAMED_FILES);
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

impl MergeResult {
    /// A merge of which only the commit is known.
    pub fn from_commit(commit: CommitId) -> MergeResult {
        MergeResult {
            commit,
            head: None,
            origin: Origin::ThisMerge,
            into: None,
            pushed_to: None,
            fast_forwarded: Vec::new(),
            left_out: OmittedWork::default(),
            warnings: Vec::new(),
        }
    }
}

impl fmt::Display for MergeResult {
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
                "{head} was already in `{into}`: an earlier attempt merged it"
            )?,
            Origin::AlreadyMerged => write!(
                formatter,
                "{head} was already in `{into}` before this merge was requested"
            )?,
        }
        match &self.pushed_to {
            Some(remote) => write!(formatter, ", pushed to `{remote}`")?,
            None => formatter.write_str(", not pushed")?,
        }
        match self.fast_forwarded.as_slice() {
            [] => write!(formatter, "; no checkout is on `{into}`")?,
            checkouts => {
                let checkouts = checkouts.join("`, `");
                // They may have been there before.
                let state = match self.origin {
                    Origin::AlreadyMerged => "up to date:",
                    Origin::ThisMerge | Origin::EarlierAttempt => "fast-forwarded",
                };
                write!(formatter, "; {state} `{checkouts}`")?;
            }
        }
        if !self.left_out.is_empty() {
            write!(formatter, "; left out: {}", self.left_out)?;
        }
        Ok(())
    }
}

/// A merge as histories record it; old ones have only the commit.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum RecordedMerge {
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
        fast_forwarded: Vec<String>,
        #[serde(default)]
        left_out: OmittedWork,
        #[serde(default)]
        warnings: Vec<String>,
    },
}

impl From<RecordedMerge> for MergeResult {
    fn from(recorded: RecordedMerge) -> Self {
        match recorded {
            RecordedMerge::Commit(commit) => MergeResult::from_commit(commit),
            RecordedMerge::Whole {
                commit,
                head,
                origin,
                into,
                pushed_to,
                fast_forwarded,
                left_out,
                warnings,
            } => MergeResult {
                commit,
                head,
                origin,
                into,
                pushed_to,
                fast_forwarded,
                left_out,
                warnings,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::EffectOutcome;

    #[test]
    fn a_merge_is_read_in_its_old_and_its_current_form() {
        let old: EffectOutcome = serde_json::from_str(r#"{"merged":"abc"}"#).unwrap();
        assert_eq!(
            old,
            EffectOutcome::Merged(MergeResult::from_commit(CommitId::new("abc")))
        );
        let new = MergeResult {
            commit: CommitId::new("abc"),
            head: Some(CommitId::new("abc")),
            origin: Origin::ThisMerge,
            into: Some(BranchName::new("main")),
            pushed_to: Some(String::from("origin")),
            fast_forwarded: vec![String::from("/tea")],
            left_out: OmittedWork {
                commits: 2,
                files: vec![String::from("notes")],
            },
            warnings: vec![String::from("push `lib`")],
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
