//! Imports TASK.md: what was said, and what was wished by hand.

use std::fs;

use orange_engine::Task;
use orange_engine::document::{Document, FieldValue, Frontmatter};
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::reading::{Look, Unknown, look};
use super::task_directory::TaskDirectory;
use super::task_file::{TaskFile, whereabouts};
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::steps::reached;
use crate::tables::imports::Import;

/// What reading TASK.md gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Read(Box<Imported>),
    /// Nobody can tell what it says, so nothing may follow from it.
    Unknown(Unknown),
}

/// A TASK.md that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub document: Document,
    /// A status that somebody wrote into it; the engine decides what it is worth.
    pub wish: Option<Wish>,
    /// Whether it was gone and came back from the last import.
    pub restored: bool,
    /// How many texts were found in replaced files and kept as imports of their own.
    pub strays: usize,
}

/// A status written by hand, with the version that stood beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    pub to: Status,
    /// The version that stood beside it.
    pub version: u64,
    /// Whether it was written in a task's worktree.
    pub in_worktree: bool,
}

/// Reads TASK.md for a decision.
///
/// What agents appended to files that were replaced is brought over first, and a file that was
/// deleted is restored. The text itself is recorded with the decision it is read for.
pub fn import(store: &mut Store, task: &TaskId, now: Timestamp) -> Result<Reading, StoreError> {
    let stored = store.require(task)?.task;
    let directory = TaskDirectory::new(&store.home, &stored.project, task)?;
    let file = TaskFile::open(&directory, now, "read TASK.md")?;
    let before = file.next_number()?;
    let mut strays = 0;
    file.settle(&mut |text: &str| {
        strays += 1;
        keep_stray(store, &stored, text, now)
    })?;
    file.count_import(before)?;
    let mut restored = false;
    loop {
        match look(&file.live) {
            Look::Missing if !restored => {
                restore(store, &file)?;
                restored = true;
            }
            Look::Missing => return Ok(Reading::Unknown(Unknown::Changing)),
            Look::Unknown(unknown) => return Ok(Reading::Unknown(unknown)),
            Look::Text(document) => {
                return Ok(Reading::Read(Box::new(Imported {
                    wish: wish(&document, &stored, file.bound),
                    document,
                    restored,
                    strays,
                })));
            }
        }
    }
}

/// Reads TASK.md for somebody who only looks; nothing is brought over, restored or locked.
pub fn peek(store: &Store, task: &TaskId) -> Result<Reading, StoreError> {
    let stored = store.require(task)?.task;
    let directory = TaskDirectory::new(&store.home, &stored.project, task)?;
    let (live, bound) = whereabouts(&directory);
    Ok(match look(&live) {
        Look::Text(document) => Reading::Read(Box::new(Imported {
            wish: wish(&document, &stored, bound),
            document,
            restored: false,
            strays: 0,
        })),
        Look::Missing => Reading::Unknown(Unknown::Failed(String::from("it is missing"))),
        Look::Unknown(unknown) => Reading::Unknown(unknown),
    })
}

/// A status in the frontmatter that is not the task's.
pub(crate) fn wish(document: &Document, task: &Task, in_worktree: bool) -> Option<Wish> {
    let Frontmatter::Present(fields) = document.frontmatter() else {
        return None;
    };
    let to = Status::new(fields.text("status")?);
    let version = u64::try_from(fields.integer("version")?).ok()?;
    (to != task.status).then_some(Wish {
        to,
        version,
        in_worktree,
    })
}

/// Remembers a text that was found where it can no longer be brought over from.
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
            asked: false,
            stray: true,
            text,
            at: now,
        },
    )
}

/// Puts the last imported text where the file was; a file that came back meanwhile stays.
pub(crate) fn restore(store: &Store, file: &TaskFile) -> Result<(), StoreError> {
    let text = last_text(store, &file.directory)?;
    let mode = if file.bound { 0o644 } else { 0o600 };
    whole_file::write_new(&file.live, text.as_bytes(), mode)?;
    reached("the file is restored");
    Ok(())
}

/// The last imported text, from the database or from its copy.
pub(crate) fn last_text(store: &Store, directory: &TaskDirectory) -> Result<String, StoreError> {
    if let Some(import) = store.last_import(directory.task())? {
        return Ok(import.text);
    }
    Ok(fs::read_to_string(directory.imported()).unwrap_or_else(|_| blank(directory.task())))
}

/// The least that is not empty, for a task that began without a text; an empty file is unknown.
fn blank(task: &TaskId) -> String {
    let id = FieldValue::Text(task.to_string());
    let document = Document::parse(b"").map(|empty| empty.with_fields(&[("id", id)]));
    document.map_or_else(|_| String::new(), |document| document.text().to_owned())
}
