//! The file with what the user has typed and not sent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_effects::private_file::{self, PrivateFileError};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::request::Requests;

/// A drafts file of this size or larger is neither read nor written.
const MAX_DRAFTS: u64 = 16 * 1024 * 1024;

/// The drafts, locked for one process at a time.
#[derive(Debug)]
pub struct DraftsFile {
    path: PathBuf,
    _lock: Lock,
}

impl Requests {
    /// Whether drafts were saved. Creates nothing.
    pub fn has_drafts(&self) -> bool {
        fs::symlink_metadata(self.context.home.drafts()).is_ok()
    }

    /// Waits until no other process uses the drafts.
    pub fn open_drafts(&self) -> Result<DraftsFile, DriverError> {
        Ok(DraftsFile {
            _lock: self.context.lock_drafts()?,
            path: self.context.home.drafts(),
        })
    }
}

impl DraftsFile {
    /// The text that was saved last; `None` if there is none.
    pub fn read(&self) -> Result<Option<String>, DriverError> {
        let failed = |reason: String| file_error("read", &self.path, reason);
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| failed(reason(&error)))?,
        };
        // A pipe could block forever.
        if !metadata.is_file() {
            return Err(failed(String::from("it is not a regular file")));
        }
        self.require_size(metadata.len(), "read")?;
        let text = fs::read_to_string(&self.path);
        text.map(Some).map_err(|error| failed(reason(&error)))
    }

    pub fn write(&self, text: &str) -> Result<(), DriverError> {
        self.require_size(u64::try_from(text.len()).unwrap_or(u64::MAX), "write")?;
        private_file::write(&self.path, text.as_bytes()).map_err(|error| {
            let reason = match error {
                PrivateFileError::System { reason, .. } => reason,
                other => other.to_string(),
            };
            file_error("write", &self.path, reason)
        })
    }

    /// Gives a file that cannot be used another name, so that nothing overwrites it; returns the
    /// new path.
    pub fn set_aside(&self) -> Result<PathBuf, DriverError> {
        let named = |number: u32| {
            let name = format!("draft-damaged-{number}.json");
            self.path.with_file_name(name)
        };
        let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let free = (1..=u32::MAX).map(named).find(is_free);
        let to = free.unwrap_or_else(|| named(0));
        let moved = fs::rename(&self.path, &to);
        moved.map_err(|error| file_error("move", &self.path, reason(&error)))?;
        Ok(to)
    }

    fn require_size(&self, size: u64, attempt: &'static str) -> Result<(), DriverError> {
        if size < MAX_DRAFTS {
            return Ok(());
        }
        let reason = format!("it has more than {MAX_DRAFTS} bytes");
        Err(file_error(attempt, &self.path, reason))
    }
}

fn file_error(attempt: &'static str, path: &Path, reason: String) -> DriverError {
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason,
    }
}
