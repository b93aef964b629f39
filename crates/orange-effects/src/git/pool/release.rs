//! Releases a workspace: saves unsaved work, then cleans it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use orange_engine::names::{BranchName, CommitId, TaskId};

use super::saved::Saved;
use super::settle::Settled;
use crate::git::worktree::status::Look;
use crate::git::{Git, GitError, Marker, Phase, Rescued, Slot, SlotRefusal, Worktree};
use crate::place::Kind;

/// How often a worktree that keeps changing is saved and cleaned before we give up.
const ROUNDS: usize = 3;

/// A workspace to release.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    pub slot: Slot<'a>,
    pub task: &'a TaskId,
    /// The default branch, if configured; it matters only for a branch without a commit.
    pub default: Option<&'a BranchName>,
}

/// The result of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// It is free: HEAD is detached, and every file except ignored ones is as in HEAD.
    Free {
        /// What was saved in the process.
        rescues: Vec<Rescued>,
    },
    /// It cannot be cleaned without losing something, so it is left as it is.
    Retired {
        obstacles: Vec<Obstacle>,
        /// What was saved anyway.
        rescues: Vec<Rescued>,
    },
    /// There is no such workspace.
    Absent,
    /// It belongs to another task; it was not changed.
    NotThatTasks { task: TaskId },
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
    NoFile(PathBuf),
    /// A file that still differs, for example because an ignored file is in its way.
    Stuck(PathBuf),
    /// There is no commit for HEAD to stay on.
    NoCommit,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, what) = match self {
            Obstacle::DirtySubmodule(path) => (path, "is a submodule with work of its own"),
            Obstacle::Repository(path) => (path, "is a repository of its own"),
            Obstacle::NoFile(path) => (path, "is no file"),
            Obstacle::Stuck(path) => (path, "stays different"),
            Obstacle::NoCommit => return formatter.write_str("there is no commit to rest on"),
        };
        let shown = path.to_string_lossy();
        write!(formatter, "`{}` {what}", shown.escape_debug())
    }
}

impl Git {
    /// Releases a workspace. Whatever was unsaved is in a rescue, or still in its place.
    pub fn release(&self, release: &Release<'_>) -> Result<Released, GitError> {
        let worktree = match self.existing_workspace(&release.slot)? {
            Ok(Some(worktree)) => worktree,
            Ok(None) => return Ok(Released::Absent),
            Err(refusal) => return Ok(Released::Refused(refusal)),
        };
        let Some(mut marker) = worktree.marker()? else {
            return Ok(Released::Absent);
        };
        match marker.phase.task() {
            None => {
                return Ok(Released::Free {
                    rescues: Vec::new(),
                });
            }
            Some(task) if task != release.task => {
                let task = task.clone();
                return Ok(Released::NotThatTasks { task });
            }
            Some(_) => {}
        }
        worktree.empty(release, &mut marker)
    }
}

impl Worktree<'_> {
    fn empty(&self, release: &Release<'_>, marker: &mut Marker) -> Result<Released, GitError> {
        let mut rescues = Vec::new();
        let mut stuck = BTreeSet::new();
        for _round in 0..ROUNDS {
            self.require_unlocked()?;
            self.put_back(|| self.saved_so_far(marker))?;
            let look = match self.look() {
                Err(GitError::NoFile(path)) => {
                    let path = path.strip_prefix(self.path()).unwrap_or(&path).to_owned();
                    let obstacles = vec![Obstacle::NoFile(path)];
                    return Ok(Released::Retired { obstacles, rescues });
                }
                look => look?,
            };
            let obstacles = self.obstacles(&look)?;
            if !obstacles.is_empty() {
                return Ok(Released::Retired { obstacles, rescues });
            }
            let Some(rest) = self.rest(&look, release.default) else {
                let obstacles = vec![Obstacle::NoCommit];
                return Ok(Released::Retired { obstacles, rescues });
            };
            let head = look.head.clone();
            if !self.is_saved(&look, marker)?
                && let Some(rescued) = self.rescue_from(release.task, look)?
            {
                let phase = Phase::Releasing {
                    task: release.task.clone(),
                    rescue: rescued.commit.clone(),
                };
                self.set_phase(marker, phase)?;
                rescues.push(rescued);
            }
            let commit = self.detach(&head, &rest)?;
            let saved = || self.saved_so_far(marker)?.and_commit(self.git(), &commit);
            stuck = match self.settle(&commit, saved)?.0 {
                Settled::Clean => {
                    self.quit_operations()?;
                    self.set_phase(marker, Phase::Idle)?;
                    return Ok(Released::Free { rescues });
                }
                Settled::Unproved(paths) | Settled::Stuck(paths) => paths,
            };
        }
        let obstacles = stuck.into_iter().map(Obstacle::Stuck).collect();
        Ok(Released::Retired { obstacles, rescues })
    }

    /// Everything that an earlier attempt has saved, or that acquiring wrote.
    fn saved_so_far(&self, marker: &Marker) -> Result<Saved, GitError> {
        let git = self.git();
        match &marker.phase {
            Phase::Releasing { task, rescue } => {
                let known = git.rescues(task)?.into_iter();
                let mut known = known.filter(|rescued| rescued.commit == *rescue);
                match known.next() {
                    Some(rescued) => {
                        let content = git.content(&rescued)?;
                        Ok(Saved::default().and_rescue(&rescued, &content))
                    }
                    None => Ok(Saved::default()),
                }
            }
            Phase::Acquiring { from, to, .. } => {
                Saved::default().and_commit(git, from)?.and_commit(git, to)
            }
            Phase::Idle | Phase::Bound { .. } => Ok(Saved::default()),
        }
    }

    /// Whether an earlier attempt has saved everything that is unsaved now.
    fn is_saved(&self, look: &Look, marker: &Marker) -> Result<bool, GitError> {
        if !self.is_unsaved(look)? {
            return Ok(true);
        }
        match (&marker.phase, look.head.commit()) {
            (Phase::Releasing { .. } | Phase::Acquiring { .. }, Some(head)) => {
                let saved = self.saved_so_far(marker)?.and_commit(self.git(), head)?;
                Ok(saved.judge(self, look)?.unproved.is_empty() && !self.is_adrift(&look.head)?)
            }
            _ => Ok(false),
        }
    }

    fn obstacles(&self, look: &Look) -> Result<Vec<Obstacle>, GitError> {
        let mut obstacles = Vec::new();
        let dirty = self.dirty_submodules(look)?.into_iter();
        obstacles.extend(dirty.map(Obstacle::DirtySubmodule));
        obstacles.extend(look.repositories.iter().cloned().map(Obstacle::Repository));
        let place = self.place()?;
        for path in look.changes.keys() {
            if place.kind(path).map_err(self.failed("look at", path))? == Kind::Other {
                obstacles.push(Obstacle::NoFile(path.clone()));
            }
        }
        Ok(obstacles)
    }

    /// The commit that HEAD stays on.
    fn rest(&self, look: &Look, default: Option<&BranchName>) -> Option<CommitId> {
        let base = || {
            let default = self.git().default_branch(default).ok()?;
            Some(self.git().base(&default).ok()?.commit)
        };
        look.head.commit().cloned().or_else(base)
    }
}
