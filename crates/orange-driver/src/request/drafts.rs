//! The file with what the user has typed and not sent.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use orange_config::reason;
use orange_effects::private_file::{self, PrivateFileError};
use orange_engine::names::TaskId;
use serde_json::Value;

use crate::DriverError;
use crate::context::lock::Lock;
use crate::request::Requests;

/// A drafts file of this size or larger is neither read nor written.
const MAX_DRAFTS: u64 = 16 * 1024 * 1024;

/// Tells whether the file was written since it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftsVersion {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

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

    /// The version of the file; `None` if there is none.
    pub fn drafts_version(&self) -> Option<DraftsVersion> {
        version(&self.context.home.drafts())
    }

    /// How many comments on the diff of a task were written in the dashboard and not sent. Drafts
    /// that cannot be read count as none: the dashboard reports them.
    pub fn unsent_comments(&self, task: &TaskId) -> usize {
        if !self.has_drafts() {
            return 0;
        }
        let text = self.open_drafts().and_then(|file| file.read());
        let text = text.ok().flatten().unwrap_or_default();
        let drafts: Value = serde_json::from_str(&text).unwrap_or_default();
        let comments = drafts["reviews"][task.as_str()]["comments"].as_array();
        comments.map_or(0, Vec::len)
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
    pub fn version(&self) -> Option<DraftsVersion> {
        version(&self.path)
    }

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

fn version(path: &Path) -> Option<DraftsVersion> {
    let found = fs::metadata(path).ok()?;
    Some(DraftsVersion {
        inode: found.ino(),
        size: found.len(),
        modified: found.modified().ok(),
    })
}

fn file_error(attempt: &'static str, path: &Path, reason: String) -> DriverError {
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason,
    }
}
