//! The size of a branch's changes, in numbers.

use orange_engine::names::CommitId;

use super::diff::DiffRequest;
use crate::git::repository::call::split_zero_terminated;
use crate::git::{Git, GitError, Worktree};

/// The size of a branch's changes since it forked from the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffSize {
    pub commits: u64,
    /// Changed files.
    pub files: u64,
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
    /// The size of the changes in the branch's commits; zero if the branch does not exist and was
    /// not merged.
    pub fn diff_size(&self, request: &DiffRequest<'_>) -> Result<DiffSize, GitError> {
        let merged = || request.merged.map(|(_, head)| head.clone());
        let Some(head) = self.branch(request.branch)?.or_else(merged) else {
            return Ok(DiffSize::default());
        };
        let base = self.fork_point(request, &head)?;
        let range = [base.to_string(), head.to_string()];
        let numbers = self.call(NUMBERS).with_arguments(&range).bytes()?;
        Ok(parse_numstat(self.count(&base, &head)?, head, &numbers))
    }
}

impl Worktree<'_> {
    /// The size of the committed and uncommitted changes in tracked files.
    pub fn diff_size(&self, request: &DiffRequest<'_>) -> Result<DiffSize, GitError> {
        let git = self.git();
        let Some(head) = git.branch(request.branch)? else {
            return Ok(DiffSize::default());
        };
        let base = git.fork_point(request, &head)?;
        let numbers = self
            .call(NUMBERS)
            .with_arguments([base.as_str(), "--"])
            .bytes()?;
        Ok(parse_numstat(git.count(&base, &head)?, head, &numbers))
    }
}

fn parse_numstat(commits: u64, head: CommitId, numbers: &[u8]) -> DiffSize {
    let mut size = DiffSize {
        commits,
        head: Some(head),
        ..DiffSize::default()
    };
    for part in split_zero_terminated(numbers) {
        let part = String::from_utf8_lossy(part);
        // The names of a renamed file follow its numbers in parts of their own.
        if part.matches('\t').count() >= 2 {
            size.files += 1;
        }
        let mut fields = part.split('\t');
        let mut count = || fields.next()?.parse::<u64>().ok();
        // For a binary file, git prints no numbers.
        let (added, removed) = (count().unwrap_or(0), count().unwrap_or(0));
        size.added += added;
        size.removed += removed;
    }
    size
}
