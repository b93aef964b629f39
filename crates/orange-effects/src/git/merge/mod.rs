//! Merges a branch without a worktree, and fast-forwards the default branch.
//!
//! The result is built from objects alone, so that nothing moves before the result is known. Then,
//! if requested, the result is pushed, before anything local moves, because the remote may reject
//! it. Then the local branch moves, together with the checkouts that are on it. A process that is
//! killed in between leaves a remote or a branch that already has the result, which is what a retry
//! checks first.

pub(crate) mod delete_branch;
pub(crate) mod diff;
pub(crate) mod diff_size;
pub(crate) mod elsewhere;
pub(crate) mod fast_forward;
pub(crate) mod preview;
pub(crate) mod push;
pub(crate) mod rebase;
pub(crate) mod recovery;
pub(crate) mod refusal;
pub(crate) mod result;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::PathBuf;

use orange_config::clock::Deadline;
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;

use super::repository::base::Tips;
use super::repository::settings::Remote;
use super::{Freshness, Git, GitError, MergeObstacle, MergeRefusal};
use crate::git::merge::fast_forward::FastForward;

/// The lock that serializes merges into one repository; it is released when its holder exits.
const LOCK: &str = "orange-merge.lock";

/// How many times a merge is computed and verified if the default branch keeps moving.
const ROUNDS: usize = 5;

/// What to merge, how, and the state that the decision was based on.
#[derive(Clone, Copy)]
pub struct MergeRequest<'a> {
    pub task: &'a TaskId,
    /// The task's summary, for the commit message.
    pub summary: &'a str,
    /// The agents that did the work, for `Assisted-by` trailers.
    pub assisted_by: &'a [String],
    pub strategy: MergeStrategy,
    /// The task's branch.
    pub branch: &'a BranchName,
    /// The commit that is merged.
    pub head: &'a CommitId,
    /// The branch's commit at the time of the decision.
    pub tip: &'a CommitId,
    pub default: &'a BranchName,
    /// The default branch's commit at the time of the decision; the branch may have advanced since,
    /// unless the strategy is `ff`.
    pub base: &'a CommitId,
    /// The name of the task's file, which no merge may add to the default branch.
    pub task_file: &'a str,
    /// When the merge was decided. It is the date of the commit, so that a retry creates the same
    /// commit.
    pub at: Timestamp,
    /// Whether to push to the remote first, if there is one.
    pub push: bool,
    /// Whether the merge was cancelled; checked before anything moves.
    pub is_cancelled: &'a dyn Fn() -> bool,
    /// Checks the result before anything moves.
    pub verify: Option<&'a Verify<'a>>,
    /// Whether the result is only for a preview, so that the commit is not signed.
    pub is_trial: bool,
}

/// Checks a commit; returns what prevents the default branch from moving there.
pub type Verify<'a> = dyn Fn(&CommitId) -> Result<Result<(), MergeObstacle>, GitError> + 'a;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The default branch contains the branch.
    Merged {
        /// The default branch's commit.
        commit: CommitId,
        /// Whether the default branch already contained the branch.
        was_there: bool,
        /// If the result was pushed, the name and the address of the remote.
        pushed_to: Option<String>,
        /// The checkouts of the default branch; their files are those of `commit`.
        forwarded: Vec<PathBuf>,
    },
    /// Nothing moved in this repository.
    Refused(Box<MergeRefusal>),
}

impl Git {
    /// Makes sure that the default branch contains a branch.
    pub fn merge(&self, merge: &MergeRequest<'_>) -> Result<MergeOutcome, GitError> {
        let failure = match self.try_merge(merge)? {
            Ok(outcome) => return Ok(outcome),
            Err(failure) => failure,
        };
        Ok(MergeOutcome::Refused(Box::new(MergeRefusal {
            task: merge.task.clone(),
            branch: merge.branch.clone(),
            default: merge.default.clone(),
            upstream: self.upstream(merge.default, merge.base)?,
            strategy: merge.strategy,
            obstacle: failure.obstacle,
            pushed_remote: failure.pushed_remote,
        })))
    }

    /// What to merge to get this commit of the default branch: the branch, or the commit itself if
    /// only the remote's branch has it.
    pub fn upstream(&self, default: &BranchName, commit: &CommitId) -> Result<String, GitError> {
        let has_it = match self.branch(default)? {
            Some(tip) => self.contains(&tip, commit)?,
            None => false,
        };
        Ok(if has_it {
            default.to_string()
        } else {
            commit.short().to_owned()
        })
    }

    fn try_merge(
        &self,
        merge: &MergeRequest<'_>,
    ) -> Result<Result<MergeOutcome, MergeFailure>, GitError> {
        let _lock = self.lock_merges()?;
        let remote = if merge.push { self.remote()? } else { None };
        let remote = remote.as_ref();
        if let (Some(remote), Freshness::Stale(reason)) = (remote, self.fetch_for(merge)?) {
            let remote = remote.name.clone();
            return Err(GitError::Unreachable { remote, reason });
        }
        // A checkout that cannot be read is skipped here: it is an obstacle only if its files would
        // have to change.
        for worktree in self.checkouts(merge.default)?.into_iter().flatten() {
            if let Some(obstacle) = worktree.recover()? {
                return Ok(Err(obstacle.into()));
            }
        }
        for _ in 0..ROUNDS {
            let tips = self.tips(merge.default)?;
            if let (Some(_), Some(local), Some(theirs), true) =
                (remote, &tips.local, &tips.theirs, tips.base.is_diverged)
            {
                let is_merged_everywhere =
                    self.is_merged(local, merge)? && self.is_merged(theirs, merge)?;
                return Ok(if is_merged_everywhere {
                    Ok(self.current_result(merge, remote, local.clone(), true)?)
                } else {
                    Err(MergeObstacle::Diverged.into())
                });
            }
            let tip = tips.target();
            let was_there = self.is_merged(tip, merge)?;
            let to = if was_there {
                tip.clone()
            } else {
                match self.result_on(tip, merge)? {
                    Ok(commit) => commit,
                    Err(obstacle) => return Ok(Err(obstacle.into())),
                }
            };
            if to != *tip
                && let Some(verify) = merge.verify
            {
                // Checked before the verification, because that may take long, and again after it.
                let forward = FastForward {
                    branch: merge.default,
                    from: tips.local.as_ref(),
                    to: &to,
                };
                if let Some(obstacle) = self.find_obstacle(&forward)? {
                    return Ok(Err(obstacle.into()));
                }
                if let Err(obstacle) = verify(&to)? {
                    return Ok(Err(obstacle.into()));
                }
                // The verification took a while. If the default branch has moved since, start over:
                // only a verified result is pushed.
                if self.tips(merge.default)?.target() != tip {
                    continue;
                }
                let found = self.branch(merge.branch)?;
                if found.as_ref() != Some(merge.tip) {
                    let expected = merge.tip.clone();
                    return Ok(Err(MergeObstacle::BranchMoved { expected, found }.into()));
                }
            }
            return match self.push_and_move(merge, remote, &tips, &to, was_there)? {
                Ok(()) => self.current_result(merge, remote, to, was_there).map(Ok),
                // Somebody pushed in the meantime: the next round is made on that.
                Err(MergeFailure {
                    obstacle: MergeObstacle::Rejected { .. },
                    ..
                }) if self.has_moved(merge, tip)? => continue,
                Err(failure) => Ok(Err(failure)),
            };
        }
        let (expected, found) = (
            merge.base.clone(),
            self.tips(merge.default)?.target().clone(),
        );
        Ok(Err(MergeObstacle::DefaultMoved { expected, found }.into()))
    }

    /// The commit that the default branch should have, if it is at `tip` now. A merge may be made
    /// on a later commit than the one it was decided for, unless the strategy is `ff`.
    fn result_on(
        &self,
        tip: &CommitId,
        merge: &MergeRequest<'_>,
    ) -> Result<Result<CommitId, MergeObstacle>, GitError> {
        let has_advanced = || {
            let may_follow = merge.strategy != MergeStrategy::Ff;
            Ok::<_, GitError>(may_follow && self.contains(tip, merge.base)?)
        };
        if tip != merge.base && !has_advanced()? {
            let (expected, found) = (merge.base.clone(), tip.clone());
            return Ok(Err(MergeObstacle::DefaultMoved { expected, found }));
        }
        self.result(&MergeRequest {
            base: tip,
            ..*merge
        })
    }

    /// The outcome, taken from the current state, so that a retry of a merge that another process
    /// completed returns the same.
    fn current_result(
        &self,
        merge: &MergeRequest<'_>,
        remote: Option<&Remote>,
        commit: CommitId,
        was_there: bool,
    ) -> Result<MergeOutcome, GitError> {
        let checkouts = self.checkouts(merge.default)?.into_iter().flatten();
        Ok(MergeOutcome::Merged {
            commit,
            was_there,
            pushed_to: remote.map(Remote::name_and_address),
            forwarded: checkouts.map(|it| it.path().to_owned()).collect(),
        })
    }

    /// Whether the default branch is no longer at this commit, here or at the remote.
    fn has_moved(&self, merge: &MergeRequest<'_>, tip: &CommitId) -> Result<bool, GitError> {
        self.fetch_for(merge)?;
        Ok(self.tips(merge.default)?.target() != tip)
    }

    fn fetch_for(&self, merge: &MergeRequest<'_>) -> Result<Freshness, GitError> {
        if merge.push {
            return self.fetch(&[merge.default]);
        }
        Ok(Freshness::NoRemote)
    }

    /// Pushes to the remote, then moves the local branch with the checkouts that are on it.
    ///
    /// Obstacles to the second step are checked before the first.
    fn push_and_move(
        &self,
        merge: &MergeRequest<'_>,
        remote: Option<&Remote>,
        tips: &Tips,
        to: &CommitId,
        was_there: bool,
    ) -> Result<Result<(), MergeFailure>, GitError> {
        let forward = FastForward {
            branch: merge.default,
            from: tips.local.as_ref(),
            to,
        };
        let is_pushed = tips.theirs.as_ref() == Some(to);
        let failure = |obstacle: MergeObstacle, pushed_to: Option<&Remote>| MergeFailure {
            obstacle,
            pushed_remote: pushed_to.map(Remote::name_and_address),
        };
        if let Some(obstacle) = self.find_obstacle(&forward)? {
            return Ok(Err(failure(obstacle, remote.filter(|_| is_pushed))));
        }
        // What has begun is finished: half a merge would be worse.
        if !was_there && (merge.is_cancelled)() {
            return Ok(Err(MergeObstacle::Cancelled.into()));
        }
        if let Some(remote) = remote.filter(|_| !is_pushed)
            && let Some(message) = self.push_commit(remote, to, merge.default)?
        {
            let remote = remote.name_and_address();
            return Ok(Err(MergeObstacle::Rejected { remote, message }.into()));
        }
        let moved = self.fast_forward(&forward)?;
        Ok(moved.map_err(|obstacle| failure(obstacle, remote)))
    }

    /// Removes the lock file of merges; waits for a merge that is in progress.
    pub fn remove_merge_lock(&self) -> Result<(), GitError> {
        let path = self.directory().join(LOCK);
        if !path.exists() {
            return Ok(());
        }
        let _lock = self.lock_merges()?;
        fs::remove_file(&path).map_err(GitError::system("remove", &path))
    }

    /// Takes the lock of merges, and waits for merges that are in progress.
    pub fn lock_merges(&self) -> Result<File, GitError> {
        let path = self.directory().join(LOCK);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        let lock = options
            .open(&path)
            .map_err(GitError::system("open", &path))?;
        let mut lock_error = None;
        let is_ours = Deadline::after(self.network_timeout()).wait_for(|| match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                lock_error = Some(error);
                true
            }
        });
        match (lock_error, is_ours) {
            (Some(error), _) => Err(GitError::system("lock", &path)(error)),
            (None, false) => Err(GitError::MergeInProgress(self.directory().to_owned())),
            (None, true) => Ok(lock),
        }
    }
}

/// What prevents the merge, and how far it got.
struct MergeFailure {
    obstacle: MergeObstacle,
    /// The remote to which the result was already pushed.
    pushed_remote: Option<String>,
}

impl From<MergeObstacle> for MergeFailure {
    fn from(obstacle: MergeObstacle) -> Self {
        Self {
            obstacle,
            pushed_remote: None,
        }
    }
}
