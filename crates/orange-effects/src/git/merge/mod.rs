//! Merges a branch without a worktree, and moves the default branch along.
//!
//! The result is made of objects alone, so that nothing moves before it is known. Then the remote
//! moves, if it is to, because it is the one that may say no; then this repository's branch,
//! together with the checkouts that are on it. Whoever is killed in between leaves a remote or a
//! branch that has the result already, which is what a repeat looks for first.

pub(crate) mod delete_branch;
pub(crate) mod diff;
pub(crate) mod extent;
pub(crate) mod forward;
pub(crate) mod interrupted;
pub(crate) mod push;
pub(crate) mod refusal;
pub(crate) mod result;

use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;

use orange_config::clock::Deadline;
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;

use super::repository::base::Tips;
use super::repository::settings::Remote;
use super::{Freshness, Git, GitError, MergeObstacle, MergeRefusal};
use crate::git::merge::forward::Forward;

/// The lock that merges into one repository take turns with; it ends with its holder.
const LOCK: &str = "orange-merge.lock";

/// What is merged, how, and what was true when that was decided.
#[derive(Clone, Copy)]
pub struct MergeBranch<'a> {
    pub task: &'a TaskId,
    /// What the task is about, for the commit's message.
    pub summary: &'a str,
    pub strategy: MergeStrategy,
    /// The task's branch.
    pub branch: &'a BranchName,
    /// The commit that is merged.
    pub head: &'a CommitId,
    /// The branch's commit when it was decided.
    pub tip: &'a CommitId,
    pub default: &'a BranchName,
    /// Its commit when it was decided.
    pub base: &'a CommitId,
    /// What the task's file is called, which no merge may bring in.
    pub task_file: &'a str,
    /// When it was decided; a repeat makes the same commit.
    pub at: Timestamp,
    /// Whether the remote, if there is one, gets the result first.
    pub push: bool,
    /// Whether nobody wants it any more; asked before the first thing moves.
    pub is_called_off: &'a dyn Fn() -> bool,
}

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging {
    /// The default branch has it.
    Merged {
        /// The default branch's commit.
        commit: CommitId,
        /// Whether it had it before.
        was_there: bool,
        /// The remote that has it too.
        pushed_to: Option<String>,
        /// The checkouts that are on the default branch, and have its files.
        forwarded: Vec<PathBuf>,
    },
    /// Nothing moved in this repository.
    Refused(Box<MergeRefusal>),
}

impl Git {
    /// Makes sure that the default branch has what a branch has.
    pub fn merge(&self, merge: &MergeBranch<'_>) -> Result<Merging, GitError> {
        let merged = self.try_merge(merge)?;
        Ok(merged.unwrap_or_else(|stopped| {
            Merging::Refused(Box::new(MergeRefusal {
                task: merge.task.clone(),
                branch: merge.branch.clone(),
                default: merge.default.clone(),
                strategy: merge.strategy,
                obstacle: stopped.obstacle,
                has_it: stopped.has_it,
            }))
        }))
    }

    fn try_merge(&self, merge: &MergeBranch<'_>) -> Result<Result<Merging, Stopped>, GitError> {
        let _alone = self.take_turn()?;
        let remote = if merge.push { self.remote()? } else { None };
        let remote = remote.as_ref();
        if let (Some(remote), Freshness::Stale(reason)) = (remote, self.fetch_for(merge)?) {
            let remote = remote.name.clone();
            return Err(GitError::Unreachable { remote, reason });
        }
        // One that cannot be looked at is an obstacle only where files would have to move.
        for worktree in self.checkouts(merge.default)?.into_iter().flatten() {
            if let Some(obstacle) = worktree.recover()? {
                return Ok(Err(obstacle.into()));
            }
        }
        let now = self.tips(merge.default)?;
        if let (Some(_), Some(local), Some(theirs), true) =
            (remote, &now.local, &now.theirs, now.base.is_diverged)
        {
            let is_everywhere = self.is_merged(local, merge)? && self.is_merged(theirs, merge)?;
            return Ok(if is_everywhere {
                Ok(self.merged(merge, remote, local.clone(), true)?)
            } else {
                Err(MergeObstacle::Diverged.into())
            });
        }
        let tip = now.target().clone();
        let was_there = self.is_merged(&tip, merge)?;
        let to = if was_there {
            tip
        } else if tip != *merge.base {
            let (expected, found) = (merge.base.clone(), tip);
            return Ok(Err(MergeObstacle::DefaultMoved { expected, found }.into()));
        } else {
            match self.result(merge)? {
                Ok(commit) => commit,
                Err(obstacle) => return Ok(Err(obstacle.into())),
            }
        };
        match self.bring(merge, remote, &now, &to)? {
            Ok(()) => self.merged(merge, remote, to, was_there).map(Ok),
            Err(stopped) => Ok(Err(stopped)),
        }
    }

    /// What the world looks like now. Whoever repeats what another has done sees the same.
    fn merged(
        &self,
        merge: &MergeBranch<'_>,
        remote: Option<&Remote>,
        commit: CommitId,
        was_there: bool,
    ) -> Result<Merging, GitError> {
        let checkouts = self.checkouts(merge.default)?.into_iter().flatten();
        Ok(Merging::Merged {
            commit,
            was_there,
            pushed_to: remote.map(Remote::told),
            forwarded: checkouts.map(|it| it.path().to_owned()).collect(),
        })
    }

    fn fetch_for(&self, merge: &MergeBranch<'_>) -> Result<Freshness, GitError> {
        if merge.push {
            return self.fetch(&[merge.default]);
        }
        Ok(Freshness::NoRemote)
    }

    /// Moves the remote, then the branch of this repository with the checkouts that are on it.
    ///
    /// What stands in the way of the second is looked for before the first.
    fn bring(
        &self,
        merge: &MergeBranch<'_>,
        remote: Option<&Remote>,
        now: &Tips,
        to: &CommitId,
    ) -> Result<Result<(), Stopped>, GitError> {
        let forward = Forward {
            branch: merge.default,
            from: now.local.as_ref(),
            to,
        };
        let is_there = now.theirs.as_ref() == Some(to);
        let stopped = |obstacle: MergeObstacle, has_it: Option<&Remote>| Stopped {
            obstacle,
            has_it: has_it.map(Remote::told),
        };
        if let Some(obstacle) = self.in_the_way(&forward)? {
            return Ok(Err(stopped(obstacle, remote.filter(|_| is_there))));
        }
        if (merge.is_called_off)() {
            return Ok(Err(MergeObstacle::CalledOff.into()));
        }
        if let Some(remote) = remote.filter(|_| !is_there)
            && let Some(words) = self.push_commit(remote, to, merge.default)?
        {
            let remote = remote.told();
            return Ok(Err(MergeObstacle::Rejected { remote, words }.into()));
        }
        let moved = self.forward(&forward)?;
        Ok(moved.map_err(|obstacle| stopped(obstacle, remote)))
    }

    /// Waits for the merges that others have begun.
    fn take_turn(&self) -> Result<File, GitError> {
        let path = self.directory().join(LOCK);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        let lock = options
            .open(&path)
            .map_err(GitError::system("open", &path))?;
        let mut failed = None;
        let is_ours = Deadline::after(self.network_timeout()).wait_for(|| match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                failed = Some(error);
                true
            }
        });
        match (failed, is_ours) {
            (Some(error), _) => Err(GitError::system("lock", &path)(error)),
            (None, false) => Err(GitError::Merging(self.directory().to_owned())),
            (None, true) => Ok(lock),
        }
    }
}

/// What stands in the way, and how far the merge has come nevertheless.
struct Stopped {
    obstacle: MergeObstacle,
    /// The remote that has it.
    has_it: Option<String>,
}

impl From<MergeObstacle> for Stopped {
    fn from(obstacle: MergeObstacle) -> Self {
        Self {
            obstacle,
            has_it: None,
        }
    }
}
