//! Rights that one process has at a time: performing, gathering, a workspace.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::reason;
use orange_engine::names::WorkspaceName;

use crate::DriverError;
use crate::context::Context;

/// How long somebody else may have a workspace; a setup script is slow, so trying again later is no
/// failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a lock may be held by a process that only looks whether another one has it.
const LOOK: Duration = Duration::from_millis(20);

/// The file that is locked by who performs.
const PERFORMER: &str = ".performer";

/// A right; it ends with its holder, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// The right to perform the effects of a task, unless somebody has it.
    pub(crate) fn to_perform(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(PERFORMER), LOOK)
    }

    /// Whether a process performs the effects of a task; nothing is made. Looking takes the lock for
    /// a moment, together with others who look.
    pub(crate) fn is_performing(task_directory: &Path) -> bool {
        let opened = File::open(task_directory.join(PERFORMER));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The right to wait for what is due later; one who waits is enough.
    pub(crate) fn to_wait(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(".performer-waiting"), Duration::ZERO)
    }

    /// The right to run the commands of gates, which must not keep effects waiting.
    pub(crate) fn to_gather(task_directory: &Path) -> Result<Option<Lock>, DriverError> {
        Lock::take(&task_directory.join(".gatherer"), Duration::ZERO)
    }

    /// Takes a right, or waits for it within a bound; nothing when somebody has it still.
    fn take(path: &Path, patience: Duration) -> Result<Option<Lock>, DriverError> {
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
        Deadline::after(patience).wait_for(|| {
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
    /// Lets go of a right to perform in a directory that should not be there, and takes away what
    /// taking it has made; a directory that holds anything else stays.
    pub(crate) fn undo(self, task_directory: &Path) {
        drop(self);
        let mut entries = fs::read_dir(task_directory).into_iter().flatten().flatten();
        if entries.all(|entry| entry.file_name() == PERFORMER) {
            let _absent = fs::remove_file(task_directory.join(PERFORMER));
            let _kept = fs::remove_dir(task_directory);
        }
    }
}

impl Context {
    /// Waits for the right to change a workspace, which performers and `workspace gc` share.
    pub(crate) fn lock_workspace(&self, name: &WorkspaceName) -> Result<Lock, DriverError> {
        let path: PathBuf = self.home.workspaces().join(".locks").join(name.as_str());
        let taken = Lock::take(&path, PATIENCE)?;
        taken.ok_or_else(|| DriverError::WorkspaceBusy(name.clone()))
    }
}
