//! Imports TASK.md: its text, and a status edited by hand.

use std::fs;

use orange_engine::Task;
use orange_engine::document::{Document, FieldValue, Frontmatter};
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::read_document::{FileContent, UnreadableReason, read_document};
use super::task_directory::TaskDirectory;
use super::task_file::{TaskFile, locate};
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::steps::reach;
use crate::tables::imports::Import;

/// The result of reading TASK.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportResult {
    Read(Box<ImportedDocument>),
    /// The content could not be determined, so nothing may be derived from the file.
    Unknown(UnreadableReason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedDocument {
    pub document: Document,
    /// A status edited into TASK.md by hand; the engine decides whether to accept it.
    pub status_edit: Option<StatusEdit>,
    /// Whether TASK.md was missing and was restored from the last import.
    pub restored: bool,
    /// How many texts were found in replaced files and kept as separate imports.
    pub strays: usize,
}

/// A status edited by hand, with the version beside it in the frontmatter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusEdit {
    pub to: Status,
    /// The version beside it in the frontmatter.
    pub version: u64,
    /// Whether it was written in a task's worktree.
    pub in_worktree: bool,
}

/// Reads TASK.md for a decision.
///
/// First copies over what agents appended to replaced files, and restores a deleted file. The text
/// itself is recorded with the decision that it is read for.
pub fn import(
    store: &mut Store,
    task: &TaskId,
    now: Timestamp,
) -> Result<ImportResult, StoreError> {
    let (file, stored) = TaskFile::open_with_task(store, task, now, "read TASK.md")?;
    let stored = stored.task;
    let before = file.next_number()?;
    let mut strays = 0;
    file.merge_replaced_files(&mut |text: &str| {
        strays += 1;
        keep_stray(store, &stored, text, now)
    })?;
    file.count_import(before)?;
    let mut restored = false;
    loop {
        match read_document(&file.live) {
            FileContent::Missing if !restored => {
                restore(store, &file)?;
                restored = true;
            }
            FileContent::Missing => return Ok(ImportResult::Unknown(UnreadableReason::Changing)),
            FileContent::Unknown(unknown) => return Ok(ImportResult::Unknown(unknown)),
            FileContent::Text(document) => {
                return Ok(ImportResult::Read(Box::new(ImportedDocument {
                    status_edit: status_edit(&document, &stored, file.bound),
                    document,
                    restored,
                    strays,
                })));
            }
        }
    }
}

/// Reads TASK.md without side effects: copies, restores and locks nothing.
pub fn peek(store: &Store, task: &TaskId) -> Result<ImportResult, StoreError> {
    let stored = store.require(task)?.task;
    let directory = TaskDirectory::new(&store.home, &stored.project, task)?;
    let (live, bound) = locate(&directory);
    Ok(match read_document(&live) {
        FileContent::Text(document) => ImportResult::Read(Box::new(ImportedDocument {
            status_edit: status_edit(&document, &stored, bound),
            document,
            restored: false,
            strays: 0,
        })),
        FileContent::Missing => {
            ImportResult::Unknown(UnreadableReason::Failed(String::from("it is missing")))
        }
        FileContent::Unknown(unknown) => ImportResult::Unknown(unknown),
    })
}

/// A status in the frontmatter that differs from the task's.
pub(crate) fn status_edit(
    document: &Document,
    task: &Task,
    in_worktree: bool,
) -> Option<StatusEdit> {
    let Frontmatter::Present(fields) = document.frontmatter() else {
        return None;
    };
    let to = Status::new(fields.text("status")?);
    let version = u64::try_from(fields.integer("version")?).ok()?;
    (to != task.status).then_some(StatusEdit {
        to,
        version,
        in_worktree,
    })
}

/// Keeps a text from a replaced file that can no longer be copied into TASK.md.
pub(crate) fn keep_stray(
    store: &mut Store,
    task: &Task,
    text: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    store.keep_import(
        &task.id,
        &Import {
            version: task.version,
            by: Role::Engine,
            with_request: false,
            stray: true,
            text,
            at: now,
        },
    )
}

/// Restores the file with the last imported text; a file that reappeared meanwhile stays.
pub(crate) fn restore(store: &Store, file: &TaskFile) -> Result<(), StoreError> {
    let text = last_text(store, &file.directory)?;
    let mode = if file.bound { 0o644 } else { 0o600 };
    whole_file::write_new(&file.live, text.as_bytes(), mode)?;
    reach("the file is restored");
    Ok(())
}

/// The last imported text, from the database or from its copy.
pub(crate) fn last_text(store: &Store, directory: &TaskDirectory) -> Result<String, StoreError> {
    if let Some(import) = store.last_import(directory.task())? {
        return Ok(import.text);
    }
    Ok(fs::read_to_string(directory.imported_file()).unwrap_or_else(|_| blank(directory.task())))
}

/// The last imported text as a document. A text that was imported can be parsed.
pub fn last_document(store: &Store, task: &TaskId) -> Result<Option<Document>, StoreError> {
    let stored = store.require(task)?.task;
    let directory = TaskDirectory::new(&store.home, &stored.project, task)?;
    Ok(Document::parse(last_text(store, &directory)?.as_bytes()).ok())
}

/// A minimal text for a task created without one; an empty file would count as unknown.
fn blank(task: &TaskId) -> String {
    let id = FieldValue::Text(task.to_string());
    let document = Document::parse(b"").map(|empty| empty.with_fields(&[("id", id)]));
    document.map_or_else(|_| String::new(), |document| document.text().to_owned())
}
