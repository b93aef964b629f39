//! Finds work that was merged elsewhere, and follows the remote.

use std::path::PathBuf;

use orange_engine::names::{BranchName, CommitId};

use super::fast_forward::FastForward;
use crate::git::{Freshness, Git, GitError, MergeObstacle};

/// How many commits of the default branch are checked for being a squash of the branch.
const MAX_SQUASHES: usize = 100;

/// The default branch after it followed the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedBranch {
    pub commit: CommitId,
    /// The checkouts of the default branch; their files are those of `commit`.
    pub forwarded: Vec<PathBuf>,
}

impl Git {
    /// Fetches a branch of the remote and returns its commit; `None` if the remote lacks it.
    pub fn fetch_tip(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        if let Freshness::Stale(reason) = self.fetch(&[branch])? {
            let remote = self.remote()?.map(|it| it.name).unwrap_or_default();
            return Err(GitError::Unreachable { remote, reason });
        }
        match self.tips(branch) {
            Ok(tips) => Ok(tips.theirs),
            Err(GitError::NoCommit { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether `tip` has the work of `head`, however it was merged: the commit itself, its patches,
    /// or a squash of them.
    pub fn contains_work(&self, tip: &CommitId, head: &CommitId) -> Result<bool, GitError> {
        if self.commit_named(head.as_str())?.is_none() {
            return Ok(false);
        }
        if self.contains(tip, head)? || self.has_patches(tip, head)? {
            return Ok(true);
        }
        let range = format!("{head}..{tip}");
        let count = format!("--max-count={MAX_SQUASHES}");
        let call = self.call(["rev-list", "--first-parent", &count, &range, "--"]);
        let commits = String::from_utf8_lossy(&call.bytes()?).into_owned();
        for commit in commits.lines() {
            if self.is_squash(commit, head)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether every patch of `head` is in `tip` too, as after a rebase.
    fn has_patches(&self, tip: &CommitId, head: &CommitId) -> Result<bool, GitError> {
        let call = self.call(["cherry", tip.as_str(), head.as_str()]);
        let text = String::from_utf8_lossy(&call.with_long_timeout().bytes()?).into_owned();
        let mut lines = text.lines().peekable();
        Ok(lines.peek().is_some() && lines.all(|line| line.starts_with('-')))
    }

    /// Fast-forwards the default branch to the remote's, as last fetched. A branch that already
    /// contains the remote's commit stays where it is.
    pub fn follow_remote(
        &self,
        default: &BranchName,
    ) -> Result<Result<FollowedBranch, MergeObstacle>, GitError> {
        let _lock = self.lock_merges()?;
        for worktree in self.checkouts(default)?.into_iter().flatten() {
            if let Some(obstacle) = worktree.recover()? {
                return Ok(Err(obstacle));
            }
        }
        let tips = self.tips(default)?;
        if tips.base.is_diverged {
            return Ok(Err(MergeObstacle::Diverged));
        }
        let to = tips.base.commit;
        let forward = FastForward {
            branch: default,
            from: tips.local.as_ref(),
            to: &to,
        };
        if let Err(obstacle) = self.fast_forward(&forward)? {
            return Ok(Err(obstacle));
        }
        let checkouts = self.checkouts(default)?.into_iter().flatten();
        let forwarded = checkouts.map(|it| it.path().to_owned()).collect();
        Ok(Ok(FollowedBranch {
            commit: to,
            forwarded,
        }))
    }

    /// The bytes of a file of a commit; `None` if there is no regular file of that name.
    pub fn read_committed(
        &self,
        commit: &CommitId,
        path: &str,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let list = self.call(["ls-tree", "-z", "--full-tree", commit.as_str(), "--", path]);
        let listed = String::from_utf8_lossy(&list.bytes()?).into_owned();
        let mut words = listed.split([' ', '\t']);
        match (words.next(), words.next(), words.next()) {
            (Some(mode), Some("blob"), Some(id)) if mode.starts_with("100") => {
                self.call(["cat-file", "blob", id]).bytes().map(Some)
            }
            _ => Ok(None),
        }
    }
}
