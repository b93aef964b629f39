//! Releases a workspace: saves unsaved work, then cleans it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use orange_engine::names::{BranchName, CommitId, TaskId};

use super::saved_contents::SavedContents;
use super::settle::SettleResult;
use crate::git::rescue::RescueScope;
use crate::git::worktree::nested_repositories::Submodule;
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{Git, GitError, Head, Marker, Phase, Rescue, Slot, SlotRefusal, Worktree};
use crate::safe_directory::EntryKind;

/// How often a worktree that keeps changing is saved and cleaned before we give up.
const ROUNDS: usize = 3;

/// A workspace to release.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseRequest<'a> {
    pub slot: Slot<'a>,
    pub task: &'a TaskId,
    /// The task's branch, if that is known; otherwise the branch that the workspace was bound with.
    pub branch: Option<&'a BranchName>,
    /// The default branch, if configured; HEAD moves there if the task's branch has no commit.
    pub default: Option<&'a BranchName>,
}

/// The result of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseResult {
    /// The workspace is free: HEAD is detached, and every file except ignored ones is as in HEAD.
    Free {
        /// What was saved in the process.
        rescues: Vec<Rescue>,
    },
    /// The workspace cannot be cleaned without losing something, so it is left as it is.
    Retired {
        obstacles: Vec<Obstacle>,
        /// What was saved anyway.
        rescues: Vec<Rescue>,
    },
    /// There is no such workspace.
    Absent,
    /// The workspace belongs to another task; it was not changed.
    OtherTask { task: TaskId },
    /// The directory cannot be used.
    Refused(SlotRefusal),
}

/// Why a workspace cannot be cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A submodule with uncommitted work, of which a rescue would save only a commit id.
    DirtySubmodule(PathBuf),
    /// A nested repository, of which a rescue would save nothing.
    Repository(PathBuf),
    /// A pipe, a socket or a device.
    NotRegularFile(PathBuf),
    /// A file that could not be reset to HEAD, for example because an ignored file is in its way.
    Stuck(PathBuf),
    /// There is no commit for HEAD to stay on.
    NoCommit,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, what) = match self {
            Obstacle::DirtySubmodule(path) => (path, "is a submodule with uncommitted work"),
            Obstacle::Repository(path) => (path, "is a nested repository"),
            Obstacle::NotRegularFile(path) => (path, "is not a regular file"),
            Obstacle::Stuck(path) => (path, "could not be reset to HEAD"),
            Obstacle::NoCommit => return formatter.write_str("there is no commit to reset to"),
        };
        let shown = path.to_string_lossy();
        write!(formatter, "`{}` {what}", shown.escape_debug())
    }
}

impl Git {
    /// Releases a workspace. Unsaved work is saved as a rescue, or stays in the worktree.
    pub fn release(&self, release: &ReleaseRequest<'_>) -> Result<ReleaseResult, GitError> {
        let worktree = match self.existing_workspace(&release.slot)? {
            Ok(Some(worktree)) => worktree,
            Ok(None) => return Ok(ReleaseResult::Absent),
            Err(refusal) => return Ok(ReleaseResult::Refused(refusal)),
        };
        let Some(mut marker) = worktree.marker()? else {
            return Ok(ReleaseResult::Absent);
        };
        match marker.phase.task() {
            None => {
                return Ok(ReleaseResult::Free {
                    rescues: Vec::new(),
                });
            }
            Some(task) if task != release.task => {
                let task = task.clone();
                return Ok(ReleaseResult::OtherTask { task });
            }
            Some(_) => {}
        }
        worktree.save_and_clean(release, &mut marker)
    }
}

impl Worktree<'_> {
    fn save_and_clean(
        &self,
        release: &ReleaseRequest<'_>,
        marker: &mut Marker,
    ) -> Result<ReleaseResult, GitError> {
        let mut rescues = Vec::new();
        let mut stuck = BTreeSet::new();
        for _round in 0..ROUNDS {
            self.require_unlocked()?;
            self.restore_held(|| self.saved_so_far(marker))?;
            let status = match self.releasable_status()? {
                Ok(status) => status,
                Err(obstacles) => return Ok(ReleaseResult::Retired { obstacles, rescues }),
            };
            let Some(target) = self.detach_commit(&status, release.default) else {
                let obstacles = vec![Obstacle::NoCommit];
                return Ok(ReleaseResult::Retired { obstacles, rescues });
            };
            let head = status.head.clone();
            let earlier = self.release_rescue(marker)?;
            let scope = if self.leaves_commits(&head, release, marker, earlier.as_ref())? {
                RescueScope::Branch
            } else {
                RescueScope::Unsaved
            };
            if (scope == RescueScope::Branch || !self.is_saved(&status, marker)?)
                && let Some(rescued) =
                    self.rescue_from(release.task, status, earlier.as_ref(), scope)?
            {
                let phase = Phase::Releasing {
                    task: release.task.clone(),
                    rescue: rescued.commit.clone(),
                };
                self.set_phase(marker, phase)?;
                rescues.push(rescued);
            }
            let commit = self.detach(&head, &target)?;
            let saved = || self.saved_so_far(marker)?.and_commit(self.git(), &commit);
            stuck = match self.reset_to_head(&commit, saved)?.0 {
                SettleResult::Clean => {
                    self.quit_operations()?;
                    self.set_phase(marker, Phase::Idle)?;
                    return Ok(ReleaseResult::Free { rescues });
                }
                SettleResult::Unproved(paths) | SettleResult::Stuck(paths) => paths,
            };
        }
        let obstacles = stuck.into_iter().map(Obstacle::Stuck).collect();
        Ok(ReleaseResult::Retired { obstacles, rescues })
    }

    /// Whether HEAD is on a branch that is not the task's, with commits that only this branch shows,
    /// and that no rescue of this release names yet.
    fn leaves_commits(
        &self,
        head: &Head,
        release: &ReleaseRequest<'_>,
        marker: &Marker,
        earlier: Option<&Rescue>,
    ) -> Result<bool, GitError> {
        let bound = match &marker.phase {
            Phase::Bound { branch, .. } => Some(branch),
            _ => None,
        };
        let (Some(own), Some(name), Some(commit)) =
            (release.branch.or(bound), head.branch(), head.commit())
        else {
            return Ok(false);
        };
        let is_named = earlier.is_some_and(|it| {
            it.about.branch.as_ref() == Some(name) && it.about.head.as_ref() == Some(commit)
        });
        if own == name || is_named {
            return Ok(false);
        }
        let commits = self.git().commits_beside(commit, own, release.default, 1)?;
        Ok(!commits.is_empty())
    }

    /// What an interrupted release has saved, or the commits of an interrupted acquire.
    fn saved_so_far(&self, marker: &Marker) -> Result<SavedContents, GitError> {
        let git = self.git();
        match &marker.phase {
            Phase::Releasing { .. } => match self.release_rescue(marker)? {
                Some(rescued) => {
                    let content = git.content(&rescued)?;
                    Ok(SavedContents::default().and_rescue(&rescued, &content))
                }
                None => Ok(SavedContents::default()),
            },
            Phase::Acquiring { from, to, .. } => SavedContents::default()
                .and_commit(git, from)?
                .and_commit(git, to),
            Phase::Idle | Phase::Bound { .. } => Ok(SavedContents::default()),
        }
    }

    /// The newest rescue of a release that has begun.
    fn release_rescue(&self, marker: &Marker) -> Result<Option<Rescue>, GitError> {
        let Phase::Releasing { task, rescue } = &marker.phase else {
            return Ok(None);
        };
        let mut known = self.git().rescues(task)?.into_iter();
        Ok(known.find(|rescued| rescued.commit == *rescue))
    }

    /// Whether an earlier attempt has saved everything that is unsaved now.
    fn is_saved(&self, status: &WorktreeStatus, marker: &Marker) -> Result<bool, GitError> {
        if !self.is_unsaved(status)? {
            return Ok(true);
        }
        match (&marker.phase, status.head.commit()) {
            (Phase::Releasing { .. } | Phase::Acquiring { .. }, Some(head)) => {
                let saved = self.saved_so_far(marker)?.and_commit(self.git(), head)?;
                Ok(saved.judge(self, status)?.unproved.is_empty()
                    && !self.is_unreachable(&status.head)?)
            }
            _ => Ok(false),
        }
    }

    /// Why the worktree cannot be cleaned without losing something; changes nothing.
    pub fn release_obstacles(&self) -> Result<Vec<Obstacle>, GitError> {
        Ok(self.releasable_status()?.err().unwrap_or_default())
    }

    /// The worktree's status, or what a rescue cannot save.
    fn releasable_status(&self) -> Result<Result<WorktreeStatus, Vec<Obstacle>>, GitError> {
        let status = match self.status() {
            Err(GitError::NotRegularFile(path)) => {
                let path = path.strip_prefix(self.path()).unwrap_or(&path).to_owned();
                return Ok(Err(vec![Obstacle::NotRegularFile(path)]));
            }
            status => status?,
        };
        let obstacles = self.obstacles(&status)?;
        Ok(if obstacles.is_empty() {
            Ok(status)
        } else {
            Err(obstacles)
        })
    }

    fn obstacles(&self, status: &WorktreeStatus) -> Result<Vec<Obstacle>, GitError> {
        let mut obstacles = Vec::new();
        let dirty = self.dirty_submodules(status)?.into_iter();
        obstacles.extend(dirty.map(Obstacle::DirtySubmodule));
        obstacles.extend(
            status
                .repositories
                .iter()
                .cloned()
                .map(Obstacle::Repository),
        );
        // A submodule that was cloned or made here has its only copy here.
        if obstacles.is_empty() {
            let submodules = self.checked_out_submodules(status)?.into_iter();
            let is_own = |it: &Submodule| self.path().join(&it.path).join(".git").is_dir();
            let only_here = submodules.filter(|it| is_own(it) && it.has_own_commits());
            obstacles.extend(only_here.map(|it| Obstacle::Repository(it.path)));
        }
        let place = self.place()?;
        for path in status.changes.keys() {
            if place.kind(path).map_err(self.file_error("inspect", path))? == EntryKind::Other {
                obstacles.push(Obstacle::NotRegularFile(path.clone()));
            }
        }
        Ok(obstacles)
    }

    /// The commit to detach HEAD at: its own, or else that of the default branch.
    fn detach_commit(
        &self,
        status: &WorktreeStatus,
        default: Option<&BranchName>,
    ) -> Option<CommitId> {
        let base = || {
            let default = self.git().default_branch(default).ok()?;
            Some(self.git().base(&default).ok()?.commit)
        };
        status.head.commit().cloned().or_else(base)
    }
}
