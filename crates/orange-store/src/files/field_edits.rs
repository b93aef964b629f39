//! Keys of TASK.md edited by hand, kept until they are reported.
//!
//! A projection overwrites the keys that the engine owns. Before that, it saves what was typed
//! there in a separate file. The edits stay in that file until the user has been told, so that a
//! kill in between cannot lose them.

use std::fs;
use std::io;

use orange_engine::document::{Document, Frontmatter};
use orange_engine::names::TaskId;
use orange_engine::{Task, replay};
use serde::{Deserialize, Serialize};

use super::task_directory::TaskDirectory;
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::steps::reach;

/// A key of TASK.md edited by hand, other than the status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldEdit {
    pub key: String,
    /// What was typed.
    pub value: String,
}

/// The keys that a user may want to change.
const KEYS: [&str; 5] = ["summary", "branch", "harness", "review_harness", "workflow"];

fn value<'a>(task: &'a Task, key: &str) -> &'a str {
    match key {
        "summary" => &task.summary,
        "branch" => task.branch.as_str(),
        "harness" => task.harness.as_str(),
        "review_harness" => task.review_harness.as_str(),
        _ => task.workflow.as_str(),
    }
}

/// The values that were typed into `old` and are overwritten in `new`. A value that an earlier
/// projection wrote was not typed.
pub(crate) fn find(
    store: &Store,
    old: &Document,
    new: &Document,
    task: &Task,
) -> Result<Vec<FieldEdit>, StoreError> {
    let (Frontmatter::Present(before), Frontmatter::Present(after)) =
        (old.frontmatter(), new.frontmatter())
    else {
        return Ok(Vec::new());
    };
    let Some(version) = before.integer("version") else {
        return Ok(Vec::new());
    };
    let is_overwritten = |key: &&str| {
        let typed = before.text(key);
        typed.is_some() && typed != Some(value(task, key)) && after.text(key) != typed
    };
    let overwritten: Vec<&str> = KEYS.into_iter().filter(is_overwritten).collect();
    if overwritten.is_empty() {
        return Ok(Vec::new());
    }
    let events = store.events(&task.id, 0)?.into_iter().map(|it| it.event);
    let events = events.take_while(|it| i64::try_from(it.version).is_ok_and(|it| it <= version));
    let earlier = replay(&events.collect::<Vec<_>>()).ok();
    let typed = overwritten.into_iter().filter_map(|key| {
        let typed = before.text(key)?;
        let projected = earlier.as_ref().map(|task| value(task, key));
        (projected != Some(typed)).then(|| FieldEdit {
            key: key.to_owned(),
            value: typed.to_owned(),
        })
    });
    Ok(typed.collect())
}

/// Saves edits that are about to be overwritten; the caller holds the lock of the task's files.
pub(crate) fn keep(directory: &TaskDirectory, edits: &[FieldEdit]) -> Result<(), StoreError> {
    let mut kept = read(directory)?;
    for edit in edits {
        if !kept.contains(edit) {
            kept.push(edit.clone());
        }
    }
    let json = serde_json::to_vec(&kept);
    let json = json.map_err(|error| StoreError::json("edited keys", directory.task(), &error))?;
    whole_file::write(&directory.field_edits_file(), &json, 0o600)?;
    reach("edited keys are kept");
    Ok(())
}

impl Store {
    /// The edits that were overwritten in TASK.md and are not reported yet.
    pub fn pending_field_edits(&self, task: &TaskId) -> Result<Vec<FieldEdit>, StoreError> {
        read(&self.directory_of(task)?)
    }

    /// Removes edits that were reported; others that were saved meanwhile stay.
    pub fn clear_field_edits(
        &self,
        task: &TaskId,
        reported: &[FieldEdit],
    ) -> Result<(), StoreError> {
        let directory = self.directory_of(task)?;
        let _lock = directory.lock("clear keys that were edited by hand")?;
        let mut left = read(&directory)?;
        left.retain(|edit| !reported.contains(edit));
        whole_file::remove(&directory.field_edits_file())?;
        if left.is_empty() {
            return Ok(());
        }
        keep(&directory, &left)
    }
}

fn read(directory: &TaskDirectory) -> Result<Vec<FieldEdit>, StoreError> {
    let path = directory.field_edits_file();
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes.map_err(|error| StoreError::file("read", &path, &error))?,
    };
    let edits = serde_json::from_slice(&bytes);
    edits.map_err(|error| StoreError::json("edited keys", directory.task(), &error))
}
