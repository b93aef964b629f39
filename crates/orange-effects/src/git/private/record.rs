//! What orange knows about a private repository, outside of the sandbox.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::{BranchName, CommitId, TaskId};
use serde::{Deserialize, Serialize};

use super::PrivateRepository;
use super::ref_table::RefTable;
use crate::git::GitError;
use crate::git::repository::own_directory::read_file;
use crate::private_file;

/// The record, in a private repository's folder.
const RECORD: &str = "current/record.json";

/// The refs that git inside was last told.
const TOLD: &str = "current/refs";

/// Upper bound on the size of both.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The task's branch, as both repositories last had it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub branch: BranchName,
    /// The name of the worktree in git's records.
    pub worktree: String,
    /// The commit of the branch, here and inside.
    pub tip: CommitId,
    /// The import that was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<BegunImport>,
}

/// An import between its checks and its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BegunImport {
    pub tip: CommitId,
    /// The name of its pack; `None` if the real repository already has every object.
    pub pack: Option<String>,
}

impl PrivateRepository {
    /// The private repository of a task in this folder, if it was created.
    pub fn find(folder: &Path, task: &TaskId) -> Result<Option<Self>, GitError> {
        if fs::symlink_metadata(folder.join(RECORD)).is_err() {
            return Ok(None);
        }
        let mut found = Self {
            folder: folder.to_owned(),
            task: task.clone(),
            branch: BranchName::new(""),
        };
        found.branch = found.record()?.branch;
        Ok(Some(found))
    }

    pub(super) fn record(&self) -> Result<Record, GitError> {
        let path = self.folder.join(RECORD);
        let bytes = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        let record = serde_json::from_slice(&bytes.unwrap_or_default());
        record.map_err(|error| GitError::system("read", &path)(error.into()))
    }

    pub(super) fn write_record(&self, record: &Record) -> Result<(), GitError> {
        let path = self.folder.join(RECORD);
        Ok(private_file::write(&path, &record.record_json(&path)?)?)
    }

    pub(super) fn told_refs(&self) -> Result<RefTable, GitError> {
        let path = self.folder.join(TOLD);
        let bytes = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        Ok(RefTable::from_packed(&bytes.unwrap_or_default()))
    }

    pub(super) fn write_told_refs(&self, refs: &RefTable) -> Result<(), GitError> {
        let text = refs.to_packed();
        Ok(private_file::write_unsynced(
            &self.folder.join(TOLD),
            text.as_bytes(),
        )?)
    }

    /// Waits until no other process creates, refreshes or imports in this folder.
    pub(super) fn lock_folder(folder: &Path, patience: Duration) -> Result<File, GitError> {
        fs::create_dir_all(folder).map_err(GitError::system("create", folder))?;
        let path: PathBuf = folder.join("lock");
        let mut options = OpenOptions::new();
        let opened = options
            .write(true)
            .create(true)
            .mode(0o600)
            .truncate(false)
            .open(&path);
        let lock = opened.map_err(GitError::system("lock", &path))?;
        let is_held = || lock.try_lock().is_ok();
        if is_held() || Deadline::after(patience).wait_for(is_held) {
            return Ok(lock);
        }
        let worktree = folder.to_owned();
        Err(GitError::Locked {
            worktree,
            lock: path,
        })
    }
}

impl Record {
    /// Writes the record of a new repository, and what git inside knows of the refs.
    pub(super) fn write_new(&self, new: &Path, refs: &RefTable) -> Result<(), GitError> {
        let path = new.join("record.json");
        private_file::write_unsynced(&path, &self.record_json(&path)?)?;
        let refs = refs.to_packed();
        Ok(private_file::write_unsynced(
            &new.join("refs"),
            refs.as_bytes(),
        )?)
    }

    fn record_json(&self, path: &Path) -> Result<Vec<u8>, GitError> {
        let json = serde_json::to_vec(self);
        json.map_err(|error| GitError::system("write", path)(error.into()))
    }
}
