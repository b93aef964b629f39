//! A status edited by hand, kept until the engine decides about it.
//!
//! A projection overwrites such a status in TASK.md. Before that, the edit is saved in its own
//! file, and it stays there until the decision about it is recorded, so that a kill in between
//! cannot lose it.

use std::fs;
use std::io;

use orange_engine::event::Fact;
use orange_engine::names::TaskId;

use super::import::StatusEdit;
use super::task_directory::TaskDirectory;
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::steps::reach;

/// Saves an edit that is about to be overwritten; the caller holds the lock of the task's files.
pub(crate) fn keep(directory: &TaskDirectory, edit: &StatusEdit) -> Result<(), StoreError> {
    let json = serde_json::to_vec(edit);
    let json = json.map_err(|error| StoreError::json("a status edit", directory.task(), &error))?;
    whole_file::write(&directory.status_edit_file(), &json, 0o600)?;
    reach("a status edit is kept");
    Ok(())
}

impl Store {
    /// The edit that was overwritten in TASK.md and about which nothing is decided yet.
    pub fn pending_status_edit(&self, task: &TaskId) -> Result<Option<StatusEdit>, StoreError> {
        read(&self.directory_of(task)?)
    }

    /// Removes an edit after the decision about it; another one that was saved meanwhile stays.
    pub fn clear_status_edit(&self, task: &TaskId, decided: &StatusEdit) -> Result<(), StoreError> {
        let directory = self.directory_of(task)?;
        let _lock = directory.lock("clear a status that was written by hand")?;
        if read(&directory)?.as_ref() == Some(decided) {
            whole_file::remove(&directory.status_edit_file())?;
        }
        Ok(())
    }

    /// Whether an edit was already rejected: a newer edit would carry a later version.
    pub fn is_rejected(&self, task: &TaskId, edit: &StatusEdit) -> Result<bool, StoreError> {
        let since = self.events(task, edit.version)?;
        Ok(since.iter().any(|recorded| {
            matches!(&recorded.event.fact, Fact::EditRejected { to, .. } if *to == edit.to)
        }))
    }

    pub(super) fn directory_of(&self, task: &TaskId) -> Result<TaskDirectory, StoreError> {
        let stored = self.require(task)?.task;
        TaskDirectory::new(&self.home, &stored.project, task)
    }
}

fn read(directory: &TaskDirectory) -> Result<Option<StatusEdit>, StoreError> {
    let path = directory.status_edit_file();
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| StoreError::file("read", &path, &error))?,
    };
    let edit = serde_json::from_slice(&bytes);
    edit.map(Some)
        .map_err(|error| StoreError::json("a status edit", directory.task(), &error))
}
