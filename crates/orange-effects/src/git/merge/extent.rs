//! The size of a branch's changes, in three numbers.

use orange_engine::names::CommitId;

use super::diff::AskDiff;
use crate::git::repository::call::parts;
use crate::git::{Git, GitError, Worktree};

/// The size of a branch's changes since it forked from the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub commits: u64,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    pub head: Option<CommitId>,
}

const NUMBERS: [&str; 6] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--numstat",
    "-z",
];

impl Git {
    /// The size of the changes in the branch's commits; zero if the branch does not exist.
    pub fn extent(&self, ask: &AskDiff<'_>) -> Result<Extent, GitError> {
        let Some(head) = self.branch(ask.branch)? else {
            return Ok(Extent::default());
        };
        let base = self.fork(ask, &head)?;
        let range = [base.to_string(), head.to_string()];
        let numbers = self.call(NUMBERS).and(&range).bytes()?;
        Ok(counted(self.count(&base, &head)?, head, &numbers))
    }
}

impl Worktree<'_> {
    /// The size of the committed and uncommitted changes in tracked files.
    pub fn extent(&self, ask: &AskDiff<'_>) -> Result<Extent, GitError> {
        let git = self.git();
        let Some(head) = git.branch(ask.branch)? else {
            return Ok(Extent::default());
        };
        let base = git.fork(ask, &head)?;
        let numbers = self.call(NUMBERS).and([base.as_str(), "--"]).bytes()?;
        Ok(counted(git.count(&base, &head)?, head, &numbers))
    }
}

fn counted(commits: u64, head: CommitId, numbers: &[u8]) -> Extent {
    let mut extent = Extent {
        commits,
        head: Some(head),
        ..Extent::default()
    };
    for part in parts(numbers) {
        let part = String::from_utf8_lossy(part);
        let mut fields = part.split('\t');
        let mut count = || fields.next()?.parse::<u64>().ok();
        // A binary file has neither.
        let (added, removed) = (count().unwrap_or(0), count().unwrap_or(0));
        extent.added += added;
        extent.removed += removed;
    }
    extent
}
