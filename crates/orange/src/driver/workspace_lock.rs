//! The right to change one workspace of the pool.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::time::Duration;

use orange_engine::names::WorkspaceName;

use super::{Driver, DriverError};
use crate::clock::Deadline;
use crate::config::reason;

/// How long somebody else may take; a setup script is slow, so trying again later is no failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// Held by one at a time, performers and `workspace gc` alike; it ends with its holder.
#[derive(Debug)]
pub(super) struct WorkspaceLock {
    _file: File,
}

impl Driver {
    /// Waits for the right to change a workspace, within a bound.
    pub(super) fn lock_workspace(
        &self,
        name: &WorkspaceName,
    ) -> Result<WorkspaceLock, DriverError> {
        let folder = self.home.workspaces().join(".locks");
        let path = folder.join(name.as_str());
        let failed = |error: &std::io::Error| DriverError::File {
            attempt: "lock",
            path: path.clone(),
            reason: reason(error),
        };
        let mut folders = DirBuilder::new();
        let made = folders.recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| failed(&error))?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| failed(&error))?;
        let mut taken = Ok(false);
        Deadline::after(PATIENCE).wait_for(|| {
            taken = match file.try_lock() {
                Ok(()) => Ok(true),
                Err(TryLockError::WouldBlock) => Ok(false),
                Err(TryLockError::Error(error)) => Err(failed(&error)),
            };
            !matches!(taken, Ok(false))
        });
        if taken? {
            Ok(WorkspaceLock { _file: file })
        } else {
            Err(DriverError::WorkspaceBusy(name.clone()))
        }
    }
}
