//! The right to perform the effects of one task.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::DriverError;
use crate::config::reason;

/// Held by one performer at a time; it ends with its holder, however that ends.
#[derive(Debug)]
pub(super) struct PerformerLock {
    _file: File,
}

impl PerformerLock {
    /// Takes the right to perform, unless somebody has it.
    pub(super) fn take(task_directory: &Path) -> Result<Option<PerformerLock>, DriverError> {
        PerformerLock::named(task_directory, ".performer")
    }

    /// Takes the right to wait for what is due later; one who waits is enough.
    pub(super) fn take_waiting(
        task_directory: &Path,
    ) -> Result<Option<PerformerLock>, DriverError> {
        PerformerLock::named(task_directory, ".performer-waiting")
    }

    /// Takes the right to run the commands of gates, which must not keep effects waiting.
    pub(super) fn take_gathering(
        task_directory: &Path,
    ) -> Result<Option<PerformerLock>, DriverError> {
        PerformerLock::named(task_directory, ".gatherer")
    }

    fn named(task_directory: &Path, name: &str) -> Result<Option<PerformerLock>, DriverError> {
        let path = task_directory.join(name);
        let failed = |error: &std::io::Error| DriverError::File {
            attempt: "lock",
            path: path.clone(),
            reason: reason(error),
        };
        let mut folders = DirBuilder::new();
        let made = folders.recursive(true).mode(0o700).create(task_directory);
        made.map_err(|error| failed(&error))?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(PerformerLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }
}
