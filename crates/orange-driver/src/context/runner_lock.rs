//! The locks of the runner and of what freezes its agents.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orange_config::reason;

use crate::DriverError;
use crate::context::Context;
use crate::fleet::FleetError;

const RUNNER: &str = "runner.lock";
const FREEZER: &str = "freezer.lock";

/// Held by the process that works for the fleet, or by the one that freezes agents; the system
/// releases it when the process exits.
#[derive(Debug)]
pub(crate) struct RunnerLock {
    _file: File,
}

impl Context {
    /// Takes the lock of this home's runner.
    pub(crate) fn take_runner(&self) -> Result<RunnerLock, DriverError> {
        let (mut file, path) = self.open_lock(RUNNER)?;
        if try_take(&mut file, &path)? {
            return Ok(RunnerLock { _file: file });
        }
        let mut text = String::new();
        let _unread = file.read_to_string(&mut text);
        let pid = text.trim().parse().unwrap_or(0);
        Err(FleetError::AlreadyRunning { pid }.into())
    }

    /// Takes the lock of the process that freezes agents; `None` when another process has it.
    pub(crate) fn take_freezer(&self) -> Result<Option<RunnerLock>, DriverError> {
        let (mut file, path) = self.open_lock(FREEZER)?;
        let is_taken = try_take(&mut file, &path)?;
        Ok(is_taken.then_some(RunnerLock { _file: file }))
    }

    /// Whether a process works for the fleet.
    pub(crate) fn has_runner(&self) -> bool {
        self.is_lock_held(RUNNER)
    }

    /// Whether a process freezes agents.
    pub(crate) fn has_freezer(&self) -> bool {
        self.is_lock_held(FREEZER)
    }

    fn is_lock_held(&self, name: &str) -> bool {
        let opened = File::open(self.home.path().join(name));
        opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn open_lock(&self, name: &str) -> Result<(File, PathBuf), DriverError> {
        let path = self.home.path().join(name);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        match options.mode(0o600).open(&path) {
            Ok(file) => Ok((file, path)),
            Err(error) => Err(failed(&path, &error)),
        }
    }
}

/// Takes a lock and writes this process into it.
fn try_take(file: &mut File, path: &Path) -> Result<bool, DriverError> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(failed(path, &error)),
    }
    let own = std::process::id().to_string();
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(own.as_bytes()));
    written.map_err(|error| failed(path, &error))?;
    Ok(true)
}

fn failed(path: &Path, error: &std::io::Error) -> DriverError {
    DriverError::File {
        attempt: "lock",
        path: path.to_owned(),
        reason: reason(error),
    }
}
