//! Creates the workspaces of the pool, and verifies existing ones.
//!
//! A worktree is ours when git has it on record at that path, its lock has our reason (set at
//! creation), and our marker is in git's directory for it. If only the marker is missing, the
//! creation was interrupted: an empty worktree is then completed, and any other is left alone.

pub(crate) mod acquire;
pub(crate) mod acquire_refusal;
mod create;
pub(crate) mod marker;
pub(crate) mod release;
pub(crate) mod remove;
pub(crate) mod remove_files;
pub(crate) mod remove_submodules;
pub(crate) mod saved_contents;
pub(crate) mod settle;
pub(crate) mod verification;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId, WorkspaceName};

use super::repository::name::folder_name;
use super::worktree::is_same_place;
use super::worktree::status::WorktreeStatus;
use super::{Git, GitError, ListedWorktree, Marker, Phase, Worktree};
use crate::git::pool::saved_contents::SavedContents;
use crate::private_file;

/// The lock reason of our worktrees, so that neither git nor the user removes one by accident.
const LOCK: &str = "a workspace of orange; look with `orange workspace list`";

/// A slot of the pool.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    /// `<project>--<n>`.
    pub name: &'a WorkspaceName,
    /// Its directory, which has the same name.
    pub path: &'a Path,
}

/// Why a directory cannot be used as a workspace. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotRefusal {
    /// Something else is at its path.
    Occupied(PathBuf),
    /// It is a worktree that orange did not create, or another workspace.
    NotOurs(PathBuf),
    /// A pipe, socket or device is where git expects a file, and would block it.
    NotRegularFile(PathBuf),
    /// It was ours, and is no longer a worktree of this repository.
    Broken {
        path: PathBuf,
        /// What does not match.
        reason: String,
    },
}

impl fmt::Display for SlotRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlotRefusal::Occupied(path) => {
                write!(formatter, "something else is at `{}`", path.display())
            }
            SlotRefusal::NotOurs(path) => {
                write!(
                    formatter,
                    "`{}` is not a worktree of this workspace",
                    path.display()
                )
            }
            SlotRefusal::NotRegularFile(path) => {
                let shown = path.to_string_lossy();
                write!(
                    formatter,
                    "`{}` is not a regular file",
                    shown.escape_debug()
                )
            }
            SlotRefusal::Broken { path, reason } => {
                write!(
                    formatter,
                    "`{}` is no longer a worktree: {reason}",
                    path.display()
                )
            }
        }
    }
}

/// What exists at a slot's path: nothing, a worktree whose creation was interrupted, the record of
/// a worktree whose directory was deleted, a usable worktree, or something else.
enum SlotState {
    Nothing,
    Unfinished,
    Gone { record: PathBuf },
    Ready,
    Refused(SlotRefusal),
}

impl Git {
    /// The workspace at a slot, created with the files of `at` if there is none.
    pub(super) fn workspace(
        &self,
        slot: &Slot<'_>,
        listed: &[ListedWorktree],
        at: &CommitId,
    ) -> Result<Result<Worktree<'_>, SlotRefusal>, GitError> {
        let path = slot.real_path()?;
        match self.slot_state(slot.name, &path, listed)? {
            SlotState::Refused(refusal) => return Ok(Err(refusal)),
            SlotState::Ready => {}
            SlotState::Gone { record } => recreate_directory(&path, &record)?,
            SlotState::Nothing => self.create_worktree(slot.name, &path, at, None)?,
            SlotState::Unfinished => {
                self.remove_unfinished(&path)?;
                self.create_worktree(slot.name, &path, at, None)?;
            }
        }
        let worktree = self.worktree(&path)?;
        worktree.refill()?;
        Ok(Ok(worktree))
    }

    /// Reads a workspace that exists, is complete and is free. `None` in any other case: acquiring
    /// the workspace meets the same problem later and reports it.
    pub(super) fn read_in_advance(&self, slot: &Slot<'_>) -> Option<WorktreeStatus> {
        let path = slot.real_path().ok()?;
        let listed = self.worktrees().ok()?;
        let state = self.slot_state(slot.name, &path, &listed).ok()?;
        let worktree = self.worktree(&path).ok()?;
        let marker = worktree.marker().ok()??;
        let is_idle = matches!(state, SlotState::Ready)
            && marker.phase == Phase::Idle
            && !marker.is_refilling
            && !worktree.is_locked();
        is_idle.then(|| worktree.status_of_unused().ok())?
    }

    /// Creates the workspace at a slot before its first use, if there is none.
    pub fn prepare(
        &self,
        slot: &Slot<'_>,
        default: Option<&BranchName>,
    ) -> Result<Result<(), SlotRefusal>, GitError> {
        let base = self.base(&self.default_branch(default)?)?;
        let workspace = self.workspace(slot, &self.worktrees()?, &base.commit)?;
        Ok(workspace.map(drop))
    }

    /// The workspace at a slot, if it exists and is complete; a deleted directory is restored from
    /// its index, and a worktree whose creation was interrupted is removed.
    pub fn existing_workspace(
        &self,
        slot: &Slot<'_>,
    ) -> Result<Result<Option<Worktree<'_>>, SlotRefusal>, GitError> {
        let path = slot.real_path()?;
        match self.slot_state(slot.name, &path, &self.worktrees()?)? {
            SlotState::Refused(refusal) => return Ok(Err(refusal)),
            SlotState::Nothing => return Ok(Ok(None)),
            SlotState::Unfinished => {
                // It may be on a branch that a workspace at another slot needs.
                self.remove_unfinished(&path)?;
                return Ok(Ok(None));
            }
            SlotState::Ready => {}
            SlotState::Gone { record } => recreate_directory(&path, &record)?,
        }
        let worktree = self.worktree(&path)?;
        worktree.refill()?;
        Ok(Ok(Some(worktree)))
    }

    /// Makes every worktree point to this repository again, after the repository was moved.
    pub fn repair_worktrees(&self) -> Result<(), GitError> {
        self.call_recording(["worktree", "repair"]).succeed()
    }

    /// Whether a directory is a worktree that any home of orange created for its tasks.
    pub(super) fn is_workspace(&self, path: &Path) -> Result<bool, GitError> {
        let mut listed = self.worktrees()?.into_iter();
        Ok(listed.any(|it| is_locked_by_us(&it) && is_same_place(&it.path, path)))
    }

    /// The marker of the worktree that git has on record at a path, even if the directory there no
    /// longer refers to that record.
    pub fn marker_of(&self, path: &Path) -> Result<Option<Marker>, GitError> {
        match self.record_at(path)? {
            Some(record) => Marker::read(&record),
            None => Ok(None),
        }
    }

    /// The user's own checkout that is on a branch; git checks a branch out only once.
    pub fn user_checkout_of(&self, branch: &BranchName) -> Result<Option<PathBuf>, GitError> {
        let mut own = self.worktrees()?.into_iter();
        let found = own.find(|it| !is_locked_by_us(it) && it.branch.as_ref() == Some(branch));
        Ok(found.map(|it| it.path))
    }

    fn slot_state(
        &self,
        name: &WorkspaceName,
        path: &Path,
        listed: &[ListedWorktree],
    ) -> Result<SlotState, GitError> {
        let mut listed = listed.iter();
        let listed = listed.find(|listed| is_same_place(&listed.path, path));
        let kind = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            kind => Some(kind.map_err(GitError::system("inspect", path))?),
        };
        let refused =
            |refusal: fn(PathBuf) -> SlotRefusal| SlotState::Refused(refusal(path.to_owned()));
        match (listed, kind) {
            (None, None) => Ok(SlotState::Nothing),
            (None, Some(kind)) if kind.is_dir() && names(path)?.is_empty() => {
                Ok(SlotState::Nothing)
            }
            (None, Some(_)) => Ok(refused(SlotRefusal::Occupied)),
            (Some(_), Some(kind)) if !kind.is_dir() => Ok(refused(SlotRefusal::Occupied)),
            (Some(listed), Some(_)) => self.classify_registered(name, path, listed),
            (Some(listed), None) => {
                let Some(record) = self.record_at(path)? else {
                    return Ok(refused(SlotRefusal::NotOurs));
                };
                let is_marked = Marker::read(&record)?.is_some();
                Ok(match (is_locked_by_us(listed), is_marked) {
                    (true, true) => SlotState::Gone { record },
                    (true, false) => SlotState::Unfinished,
                    (false, _) => refused(SlotRefusal::NotOurs),
                })
            }
        }
    }

    /// Classifies a worktree that git has on record and whose directory exists.
    fn classify_registered(
        &self,
        name: &WorkspaceName,
        path: &Path,
        listed: &ListedWorktree,
    ) -> Result<SlotState, GitError> {
        let is_empty = names(path)?.iter().all(|it| it == ".git") && !path.join(".git").is_dir();
        let worktree = match self.worktree(path) {
            Ok(worktree) => worktree,
            Err(GitError::WorktreeMismatch { path, reason }) => {
                let record = self.record_at(&path)?.filter(|_| is_locked_by_us(listed));
                return Ok(match record.filter(|_| is_empty) {
                    None => SlotState::Refused(SlotRefusal::Broken { path, reason }),
                    Some(record) if Marker::read(&record)?.is_some() => SlotState::Gone { record },
                    Some(_) => SlotState::Unfinished,
                });
            }
            Err(error) => return Err(error),
        };
        let has_index = worktree.directory().join("index").exists();
        Ok(match worktree.marker()? {
            Some(marker) if marker.workspace == *name => SlotState::Ready,
            None if is_locked_by_us(listed) && is_empty && !has_index => SlotState::Unfinished,
            _ => SlotState::Refused(SlotRefusal::NotOurs(path.to_owned())),
        })
    }

    /// Removes an incomplete worktree that is empty.
    fn remove_unfinished(&self, path: &Path) -> Result<(), GitError> {
        let failed = GitError::system("remove", path);
        let entry = path.join(".git");
        if fs::symlink_metadata(&entry).is_ok_and(|it| it.is_file()) {
            fs::remove_file(&entry).map_err(&failed)?;
        }
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Not empty: something has just appeared in it.
            removed => removed.map_err(&failed)?,
        }
        let call = self.call_recording(["worktree", "remove", "--force", "--force", "--"]);
        call.with_arguments([path]).succeed()
    }

    /// git's own directory for a worktree that should be at a path.
    fn record_at(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        let records = self.directory().join("worktrees");
        let entries = match fs::read_dir(&records) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(GitError::system("read", &records))?,
        };
        for entry in entries.flatten() {
            let Ok(text) = fs::read(entry.path().join("gitdir")) else {
                continue;
            };
            let place = entry
                .path()
                .join(super::repository::call::path(text.trim_ascii_end()));
            if place
                .parent()
                .is_some_and(|place| is_same_place(place, path))
            {
                return Ok(Some(entry.path()));
            }
        }
        Ok(None)
    }
}

impl Worktree<'_> {
    /// Completes filling the directory from the index, if filling was begun.
    fn refill(&self) -> Result<(), GitError> {
        let Some(mut marker) = self.marker()?.filter(|marker| marker.is_refilling) else {
            return Ok(());
        };
        self.require_unlocked()?;
        let has_files = names(self.path())?.iter().any(|it| it != ".git");
        let has_index = self.directory().join("index").exists();
        if !has_files && !has_index {
            self.fill_new()?;
            marker.is_refilling = false;
            return marker.write(self.directory());
        }
        if !has_index {
            self.call(["read-tree", "--reset", "HEAD"]).succeed()?;
        }
        if has_files {
            let status = self.status()?;
            // A process that was killed while filling may have left an incomplete file, which is
            // removed; anything unsaved stays.
            let check = SavedContents::default()
                .and_index(&status)
                .judge(self, &status)?;
            self.remove_proved(&check.proved)?;
        }
        self.fill()?;
        marker.is_refilling = false;
        marker.write(self.directory())
    }
}

impl Slot<'_> {
    /// The slot's directory with links resolved; creates the pool's directory if it is missing.
    fn real_path(&self) -> Result<PathBuf, GitError> {
        let name = folder_name(self.name)?;
        if self.path.file_name() != Some(name.as_ref()) || self.path.is_relative() {
            return Err(GitError::BadName {
                what: "a workspace's directory",
                value: self.path.display().to_string(),
                reason: "it is not an absolute path that ends in the workspace's name",
            });
        }
        let folder = private_file::make_folder(self.path)?;
        let folder = folder
            .canonicalize()
            .map_err(GitError::system("open", folder))?;
        Ok(folder.join(name))
    }
}

fn is_locked_by_us(listed: &ListedWorktree) -> bool {
    listed.locked.as_deref() == Some(LOCK)
}

fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>, GitError> {
    let failed = GitError::system("list", folder);
    let entries = fs::read_dir(folder).map_err(&failed)?;
    entries
        .map(|entry| Ok(entry.map_err(&failed)?.file_name()))
        .collect()
}

/// Recreates the directory of a workspace that was deleted by hand.
fn recreate_directory(path: &Path, record: &Path) -> Result<(), GitError> {
    let failed = GitError::system("create", path);
    if let Some(mut marker) = Marker::read(record)? {
        marker.is_refilling = true;
        marker.write(record)?;
    }
    fs::create_dir_all(path).map_err(&failed)?;
    let mut entry = b"gitdir: ".to_vec();
    entry.extend_from_slice(record.as_os_str().as_bytes());
    entry.push(b'\n');
    fs::write(path.join(".git"), entry).map_err(&failed)
}
