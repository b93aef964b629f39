//! Locks for one process at a time: performing, posting, workspaces, drafts, notes.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::reason;
use orange_engine::names::WorkspaceName;

use crate::DriverError;
use crate::context::Context;

/// How long to wait for a workspace that another process holds. A slow setup script may hold it
/// longer; the caller then tries again later.
const WORKSPACE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long to wait for another dashboard that saves its drafts.
const DRAFTS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for another process that changes notes.
const NOTES_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for another process that posts to issues.
const POSTING_TIMEOUT: Duration = Duration::from_mins(1);

/// How long to wait for a process that takes the lock only to check for another holder.
const CHECK_TIMEOUT: Duration = Duration::from_millis(20);

/// The file that the performer locks.
const PERFORMER_LOCK: &str = ".performer";

/// A lock; the system releases it when its holder exits, for whatever reason.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// The lock for performing the effects of a task, unless another process holds it.
    pub(crate) fn to_perform(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(PERFORMER_LOCK), CHECK_TIMEOUT)
    }

    /// Whether a process performs the effects of a task; creates nothing. The check takes the lock
    /// for a moment, shared with other checks.
    pub(crate) fn is_performing(task_directory: &Path) -> bool {
        let opened = File::open(task_directory.join(PERFORMER_LOCK));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The lock for the process that waits until a later effect is due; one such process is enough.
    pub(crate) fn to_wait(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(".performer-waiting"), Duration::ZERO)
    }

    /// The lock for running gate commands. It is separate, so that gate commands do not delay
    /// effects.
    pub(crate) fn to_gather(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(".gatherer"), Duration::ZERO)
    }

    /// Takes a lock, waiting up to a limit; `None` when another process still holds it.
    fn take(path: &Path, timeout: Duration) -> Result<Option<Lock>, DriverError> {
        let failed = |error: &std::io::Error| DriverError::File {
            attempt: "lock",
            path: path.to_owned(),
            reason: reason(error),
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let mut folders = DirBuilder::new();
        let made = folders.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(&error))?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|error| failed(&error))?;
        let mut taken = Ok(());
        Deadline::after(timeout).wait_for(|| {
            taken = file.try_lock();
            !matches!(taken, Err(TryLockError::WouldBlock))
        });
        match taken {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }
}

impl Lock {
    /// Releases a performer lock in a directory that should not exist, and removes what taking it
    /// created; a directory that holds anything else stays.
    pub(crate) fn undo(self, task_directory: &Path) {
        drop(self);
        let mut entries = fs::read_dir(task_directory).into_iter().flatten().flatten();
        if entries.all(|entry| entry.file_name() == PERFORMER_LOCK) {
            let _absent = fs::remove_file(task_directory.join(PERFORMER_LOCK));
            let _kept = fs::remove_dir(task_directory);
        }
    }
}

impl Context {
    /// Waits for the lock on a workspace, which performers and `workspace gc` share.
    pub(crate) fn lock_workspace(&self, name: &WorkspaceName) -> Result<Lock, DriverError> {
        let path: PathBuf = self.home.workspaces().join(".locks").join(name.as_str());
        let taken = Lock::take(&path, WORKSPACE_TIMEOUT)?;
        taken.ok_or_else(|| DriverError::WorkspaceBusy(name.clone()))
    }

    /// Waits for the lock for posting to issues; one process of the home posts at a time.
    pub(crate) fn lock_posting(&self) -> Result<Lock, DriverError> {
        let path = self.home.path().join("posting.lock");
        let taken = Lock::take(&path, POSTING_TIMEOUT)?;
        taken.ok_or_else(|| DriverError::File {
            attempt: "lock",
            path,
            reason: String::from("another process holds it"),
        })
    }

    /// Waits for the lock on the notes, which all processes of the home share.
    pub(crate) fn lock_notes(&self) -> Result<Lock, DriverError> {
        let path = self.home.path().join("notes.lock");
        let taken = Lock::take(&path, NOTES_TIMEOUT)?;
        taken.ok_or_else(|| DriverError::File {
            attempt: "lock",
            path,
            reason: String::from("another process holds it"),
        })
    }

    /// Waits for the lock on the drafts, which all dashboards of the home share.
    pub(crate) fn lock_drafts(&self) -> Result<Lock, DriverError> {
        let path = self.home.path().join("drafts.lock");
        let taken = Lock::take(&path, DRAFTS_TIMEOUT)?;
        taken.ok_or_else(|| DriverError::File {
            attempt: "lock",
            path,
            reason: String::from("another process holds it"),
        })
    }
}
