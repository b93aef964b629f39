//! Removes a workspace that holds no work, and git's record of it.
//!
//! The directory is renamed first and deleted last: a process that is killed in between leaves
//! either a complete worktree, or a record without a directory, or a directory in the trash. The
//! next attempt finishes the removal from any of these states.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{SlotState, is_locked_by_us};
use crate::git::{Git, GitError, Marker, Obstacle, Phase, Slot, Worktree};
use crate::private_file;

/// A workspace to remove.
#[derive(Clone, Copy, Debug)]
pub struct RemoveRequest<'a> {
    pub slot: Slot<'a>,
    /// Where its directory goes before it is deleted; on the same disk, and used for nothing else.
    pub trash: &'a Path,
    /// Where ignored files are moved; on the same disk.
    pub aside: &'a Path,
}

/// The result of removing a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoveResult {
    Removed {
        /// Where the git directories of its submodules are now, if they may have commits of their
        /// own.
        submodules: Option<PathBuf>,
    },
    /// There was no workspace.
    Absent,
    /// It holds something that is saved nowhere, or is not ours; nothing was removed.
    Kept { reason: String },
}

impl Git {
    /// Removes a workspace that has been released. The branch that it was on stays.
    pub fn remove_workspace(&self, remove: &RemoveRequest<'_>) -> Result<RemoveResult, GitError> {
        clear_trash(remove)?;
        let path = remove.slot.real_path()?;
        let kept = |reason: String| Ok(RemoveResult::Kept { reason });
        match self.slot_state(remove.slot.name, &path, &self.worktrees()?)? {
            SlotState::Refused(refusal) => return kept(refusal.to_string()),
            SlotState::Nothing => return Ok(RemoveResult::Absent),
            SlotState::Unfinished => {
                self.remove_unfinished(&path)?;
                return Ok(RemoveResult::Absent);
            }
            SlotState::Gone { record } => {
                if let Some(reason) = Marker::read(&record)?.and_then(|it| held_by_task(&it)) {
                    return kept(reason);
                }
                // Without the directory it is unknown what its submodules have.
                let submodules = self.keep_submodules(remove.slot.name.as_str(), &record)?;
                self.remove_record(&path)?;
                return Ok(RemoveResult::Removed { submodules });
            }
            SlotState::Ready => {}
        }
        let worktree = self.worktree(&path)?;
        if let Some(reason) = worktree.unsaved_reason()? {
            return kept(reason);
        }
        worktree.move_all_ignored(remove.aside)?;
        // Something may have been written meanwhile, or could not be moved.
        let reason = match worktree.unsaved_reason()? {
            None if worktree.has_ignored()? => {
                Some(String::from("ignored files keep appearing in it"))
            }
            reason => reason,
        };
        if let Some(mut reason) = reason {
            if remove.aside.exists() {
                let aside = remove.aside.display();
                reason = format!("{reason}; its ignored files are in `{aside}`");
            }
            return kept(reason);
        }
        let record = worktree.has_submodule_work()?.then(|| worktree.directory());
        let submodules = self.discard(remove, &path, record)?;
        Ok(RemoveResult::Removed { submodules })
    }

    /// Removes the worktree in which merged results were verified; everything in it comes from a
    /// commit or from the verification.
    pub fn remove_verification(
        &self,
        remove: &RemoveRequest<'_>,
    ) -> Result<RemoveResult, GitError> {
        clear_trash(remove)?;
        let path = remove.slot.real_path()?;
        match self.slot_state(remove.slot.name, &path, &self.worktrees()?)? {
            SlotState::Refused(refusal) => Ok(RemoveResult::Kept {
                reason: refusal.to_string(),
            }),
            SlotState::Nothing => Ok(RemoveResult::Absent),
            SlotState::Unfinished => {
                self.remove_unfinished(&path)?;
                Ok(RemoveResult::Absent)
            }
            SlotState::Gone { .. } => {
                self.remove_record(&path)?;
                Ok(RemoveResult::Absent)
            }
            SlotState::Ready => {
                let submodules = self.discard(remove, &path, None)?;
                Ok(RemoveResult::Removed { submodules })
            }
        }
    }

    /// Whether any home of orange has a worktree of this repository.
    pub fn has_workspaces(&self) -> Result<bool, GitError> {
        Ok(self.worktrees()?.iter().any(is_locked_by_us))
    }

    /// Whether another home of orange than the one with this directory has a worktree of this
    /// repository.
    pub fn has_workspaces_outside(&self, directory: &Path) -> Result<bool, GitError> {
        let real = directory.canonicalize();
        let real = real.unwrap_or_else(|_| directory.to_owned());
        let mut ours = self.worktrees()?.into_iter().filter(is_locked_by_us);
        Ok(ours.any(|it| !it.path.starts_with(&real)))
    }

    /// Deletes a worktree and git's record of it. If `kept_record` is given, the git directories of
    /// submodules in that record are kept; returns where they are now.
    fn discard(
        &self,
        remove: &RemoveRequest<'_>,
        path: &Path,
        kept_record: Option<&Path>,
    ) -> Result<Option<PathBuf>, GitError> {
        private_file::make_folder(remove.trash)?;
        fs::rename(path, remove.trash).map_err(GitError::system("move", path))?;
        let workspace = remove.slot.name.as_str();
        let submodules = kept_record.map(|record| self.keep_submodules(workspace, record));
        let submodules = submodules.transpose()?.flatten();
        self.remove_record(path)?;
        clear_trash(remove)?;
        Ok(submodules)
    }

    /// Removes git's record of a worktree whose directory is gone.
    fn remove_record(&self, path: &Path) -> Result<(), GitError> {
        let call = self.call_recording(["worktree", "remove", "--force", "--force", "--"]);
        call.with_arguments([path]).succeed()
    }
}

impl Worktree<'_> {
    /// What the worktree's removal would lose, apart from ignored files; changes nothing.
    pub fn unsaved_reason(&self) -> Result<Option<String>, GitError> {
        if let Some(reason) = self.marker()?.and_then(|it| held_by_task(&it)) {
            return Ok(Some(reason));
        }
        self.require_unlocked()?;
        let status = match self.status() {
            Err(GitError::NotRegularFile(path)) => {
                let shown = path.to_string_lossy();
                let reason = format!("`{}` is not a regular file", shown.escape_debug());
                return Ok(Some(reason));
            }
            status => status?,
        };
        let submodules = self.dirty_submodules(&status)?.into_iter();
        let nested = status.repositories.iter().cloned();
        let mut nested = nested
            .map(Obstacle::Repository)
            .chain(submodules.map(Obstacle::DirtySubmodule));
        if let Some(obstacle) = nested.next() {
            return Ok(Some(obstacle.to_string()));
        }
        if let Some(reason) = self.embedded_submodules()?.into_iter().next() {
            return Ok(Some(reason));
        }
        if self.is_unsaved(&status)? {
            let reason = "it has changes or commits that are saved nowhere";
            return Ok(Some(reason.to_owned()));
        }
        Ok(None)
    }
}

/// Why a workspace cannot be removed yet: a task still has it.
fn held_by_task(marker: &Marker) -> Option<String> {
    let task = match &marker.phase {
        Phase::Idle => return None,
        phase => phase.task()?,
    };
    Some(format!("task `{task}` has it"))
}

/// Deletes what an interrupted attempt left in the trash.
fn clear_trash(remove: &RemoveRequest<'_>) -> Result<(), GitError> {
    match fs::remove_dir_all(remove.trash) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::system("remove", remove.trash)(error))
        }
        _ => Ok(()),
    }
}
