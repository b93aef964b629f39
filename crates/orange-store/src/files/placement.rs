//! Moves TASK.md into a worktree and back.

use std::fs;
use std::path::Path;

use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use super::import::last_text;
use super::read_document;
use super::read_document::{FileContent, read_document};
use super::task_directory::TaskDirectory;
use super::task_file::TaskFile;
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::steps::reach;

/// The result of taking TASK.md out of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// TASK.md was not in a worktree.
    NotBound,
    /// TASK.md was copied back, byte for byte.
    CopiedBack,
    /// TASK.md was missing, empty or unreadable in the worktree; the last import replaced it.
    Restored,
}

/// Moves TASK.md to a path in a worktree and leaves a link in the task directory.
///
/// Safe to repeat, even after a kill. A file at that path that is not ours is refused: the
/// repository may have its own TASK.md.
pub fn bind(
    store: &mut Store,
    task: &TaskId,
    path: &Path,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut file = open(store, task, now, "move TASK.md into the worktree")?;
    if file.bound {
        if file.live == path {
            return Ok(());
        }
        return Err(StoreError::BoundElsewhere {
            task: task.clone(),
            wanted: path.to_owned(),
            path: file.live,
        });
    }
    let binding = file.directory.binding_link();
    // The link is written only while nothing exists at the path; so if the link exists, a file at
    // the path is our own copy.
    let is_resumed = fs::read_link(&binding).is_ok_and(|target| target == path);
    if !is_resumed {
        if fs::symlink_metadata(path).is_ok() || read_document::is_behind_link(path) {
            return Err(StoreError::PathOccupied {
                task: task.clone(),
                path: path.to_owned(),
            });
        }
        whole_file::write_link(&binding, path)?;
    }
    let text = match read_document(&file.live) {
        FileContent::Text(document) => document.text().to_owned(),
        FileContent::Missing => last_text(store, &file.directory)?,
        FileContent::Unknown(unknown) => {
            return Err(StoreError::FileChanging {
                path: file.live,
                reason: unknown.to_string(),
            });
        }
    };
    whole_file::write(path, text.as_bytes(), 0o644)?;
    reach("the copy is in the worktree");
    // From here on the file in the worktree is authoritative.
    whole_file::rename(&binding, &file.directory.bound_link())?;
    whole_file::sync_directory_of(&binding)?;
    path.clone_into(&mut file.live);
    file.bound = true;
    file.recover()
}

/// Moves TASK.md back into the task directory and removes it from the worktree.
///
/// Safe to repeat, even after a kill. The workspace may go to another task only after this returns.
pub fn release(
    store: &mut Store,
    task: &TaskId,
    now: Timestamp,
) -> Result<ReleaseOutcome, StoreError> {
    let mut file = open(store, task, now, "take TASK.md out of the worktree")?;
    let directory = file.directory.clone();
    if !file.bound {
        // A killed bind may have left its copy behind.
        if fs::symlink_metadata(directory.binding_link()).is_ok() {
            whole_file::rename(&directory.binding_link(), &directory.releasing_link())?;
            file.recover()?;
        }
        return Ok(ReleaseOutcome::NotBound);
    }
    // The agents that wrote the file have ended, so its content is final.
    let found = read_document::read(&file.live);
    let content = match found {
        Ok(Some(content)) if !content.is_empty() => Some(content),
        Ok(None) => {
            return Err(StoreError::FileChanging {
                path: file.live,
                reason: String::from("it is being written"),
            });
        }
        _ => None,
    };
    let (content, outcome) = match content {
        Some(content) => (content, ReleaseOutcome::CopiedBack),
        None => (
            last_text(store, &directory)?.into_bytes(),
            ReleaseOutcome::Restored,
        ),
    };
    whole_file::write(&directory.task_file(), &content, 0o600)?;
    whole_file::write_link(&directory.releasing_link(), &file.live)?;
    // From here on the file in the task directory is authoritative.
    whole_file::remove(&directory.bound_link())?;
    whole_file::sync_directory_of(&directory.bound_link())?;
    reach("the file is back");
    file.live = directory.task_file();
    file.bound = false;
    file.recover()?;
    Ok(outcome)
}

fn open(
    store: &Store,
    task: &TaskId,
    now: Timestamp,
    attempt: &'static str,
) -> Result<TaskFile, StoreError> {
    let stored = store.require(task)?.task;
    let directory = TaskDirectory::new(&store.home, &stored.project, task)?;
    TaskFile::open(&directory, now, attempt)
}
