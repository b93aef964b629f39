//! Writes copies of what the database holds into the task directory.

use std::fs;

use orange_engine::Task;
use orange_engine::document::{Document, FieldValue, SectionName};
use orange_engine::names::TaskId;
use orange_engine::task::Workspace;
use orange_engine::time::Timestamp;

use super::Store;
use super::error::StoreError;
use super::open::make_private;
use crate::files::import::{StatusEdit, keep_stray, last_text, restore, status_edit};
use crate::files::read_document::{FileContent, UnreadableReason, read_document};
use crate::files::task_directory::TaskDirectory;
use crate::files::task_file::{TaskFile, Text};
use crate::files::{field_edits, history, status_edits, whole_file};
use crate::steps::reach;

/// How often the frontmatter is rewritten when agents write at the same time.
const ROUNDS: usize = 16;

/// The result of a projection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectionReport {
    /// Whether TASK.md was missing and was restored from the last import.
    pub restored: bool,
    /// A status that was edited into TASK.md by hand and is now overwritten; it is kept until the
    /// engine has decided about it.
    pub status_edit: Option<StatusEdit>,
    /// Why the frontmatter could not be updated now; the next projection tries again.
    pub deferred: Option<UnreadableReason>,
}

/// Brings the task directory up to date with the database.
///
/// Derives everything from the database, so it can be repeated at any time and after any crash; it
/// writes nothing when nothing changed. In TASK.md it changes only the keys that the engine owns.
pub fn project(
    store: &mut Store,
    task: &TaskId,
    now: Timestamp,
) -> Result<ProjectionReport, StoreError> {
    let id = task;
    let attempt = "write the files of the task";
    let (file, stored) = TaskFile::open_with_task(store, id, now, attempt)?;
    let directory = file.directory.clone();
    let is_first = !directory.history().exists();
    // Write the workflow first, because a rebuild needs it to interpret the history.
    whole_file::write_if_changed(&directory.workflow(), stored.workflow_text.as_bytes())?;
    reach("the workflow is written");
    history::append(store, &directory)?;
    if let Some(import) = store.last_import(id)? {
        whole_file::write_if_changed(&directory.imported_file(), import.text.as_bytes())?;
    }
    write_notes(store, &directory)?;
    write_issue(store, &stored.task)?;
    let task = &stored.task;
    if is_first {
        write_first(store, &file, task)?;
    }
    rewrite(store, &file, task, &|old| old.with_fields(&fields(task)))
}

/// Writes the first TASK.md, with the engine's keys. No process can be writing this file yet, so it
/// is not waited for like one that is missing later.
fn write_first(store: &Store, file: &TaskFile, task: &Task) -> Result<(), StoreError> {
    if file.bound || fs::symlink_metadata(&file.live).is_ok() {
        return Ok(());
    }
    let text = last_text(store, &file.directory)?;
    if let Ok(document) = Document::parse(text.as_bytes()) {
        let document = document.with_fields(&fields(task));
        whole_file::write_new(&file.live, document.text().as_bytes(), 0o600)?;
        reach("the file is restored");
    }
    Ok(())
}

/// Writes the performers' notes, for a rebuild.
fn write_notes(store: &Store, directory: &TaskDirectory) -> Result<(), StoreError> {
    let task = directory.task();
    let failed = |error| StoreError::json("a note", task, &error);
    for run in store.runs(task)? {
        if run.setup.is_none() && run.place.is_none() {
            continue;
        }
        let path = directory.run(&run.id)?;
        make_private(&path)?;
        let json = serde_json::to_vec_pretty(&run).map_err(failed)?;
        whole_file::write_if_changed(&path.join("run.json"), &json)?;
    }
    let inbox = store.inbox(task)?;
    if !inbox.is_empty() {
        let json = serde_json::to_vec_pretty(&inbox).map_err(failed)?;
        whole_file::write_if_changed(&directory.inbox(), &json)?;
    }
    Ok(())
}

/// Writes the issue that the task is for, if the file is missing. An agent finds it from its start,
/// even if the process that created the task was killed before it wrote the files.
pub fn write_issue(store: &Store, task: &Task) -> Result<(), StoreError> {
    if task.issue.is_none() {
        return Ok(());
    }
    let directory = TaskDirectory::new(&store.home, &task.project, &task.id)?;
    let path = directory.issue_file();
    if path.exists() {
        return Ok(());
    }
    if let Some(text) = store.issue_text(&task.id)? {
        whole_file::write_if_changed(&path, text.as_bytes())?;
    }
    Ok(())
}

/// Archives a section of TASK.md; performs the effect `archive_section`, which may be repeated.
pub fn archive_section(
    store: &mut Store,
    task: &TaskId,
    section: &SectionName,
    now: Timestamp,
) -> Result<ProjectionReport, StoreError> {
    let attempt = "archive a section of TASK.md";
    let (file, stored) = TaskFile::open_with_task(store, task, now, attempt)?;
    rewrite(store, &file, &stored.task, &|old| {
        old.with_section_archived(section)
    })
}

/// Replaces the text with a changed one, until nothing is left to change.
fn rewrite(
    store: &mut Store,
    file: &TaskFile,
    task: &Task,
    change: &dyn Fn(&Document) -> Document,
) -> Result<ProjectionReport, StoreError> {
    let mut report = ProjectionReport::default();
    for _ in 0..ROUNDS {
        let old = match read_document(&file.live) {
            FileContent::Text(document) => document,
            FileContent::Unknown(unknown) => {
                report.deferred = Some(unknown);
                return Ok(report);
            }
            FileContent::Missing => {
                restore(store, file)?;
                report.restored = true;
                continue;
            }
        };
        let new = change(&old);
        if new.text() == old.text() {
            return Ok(report);
        }
        // A status that an earlier projection wrote was not edited by hand.
        if let Some(found) = status_edit(&old, task, file.bound)
            && status_edit(&new, task, file.bound).is_none()
            && store.status_at(&task.id, found.version)?.as_ref() != Some(&found.to)
        {
            status_edits::keep(&file.directory, &found)?;
            report.status_edit = Some(found);
        }
        let typed = field_edits::find(store, &old, &new, task)?;
        if !typed.is_empty() {
            field_edits::keep(&file.directory, &typed)?;
        }
        // If an agent wrote between the read and the swap, try again.
        if let Some(replaced) = file.replace(old.text(), &Text::from(&new))? {
            let mut keep = |text: &str| keep_stray(store, task, text, file.now);
            file.copy_over(vec![replaced], &mut keep)?;
        }
    }
    report.deferred = Some(UnreadableReason::Changing);
    Ok(report)
}

/// The keys of the frontmatter that the engine owns.
fn fields(task: &Task) -> Vec<(&str, FieldValue)> {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let workspace = match &task.workspace {
        Workspace::Bound(name) | Workspace::Releasing(Some(name)) => text(name.as_str()),
        Workspace::None | Workspace::Acquiring | Workspace::Releasing(None) => FieldValue::Null,
    };
    let attention = if task.attention.is_empty() {
        FieldValue::Null
    } else {
        FieldValue::Text(task.attention.join("; "))
    };
    let version = i64::try_from(task.version).unwrap_or(i64::MAX);
    let counters = task.fields.iter();
    let mut fields: Vec<(&str, FieldValue)> = counters
        .map(|(name, value)| (name.as_str(), FieldValue::Integer(*value)))
        .collect();
    // These come last: a workflow's field with the same name must not hide one of them.
    fields.extend([
        ("id", text(task.id.as_str())),
        ("project", text(task.project.as_str())),
        ("summary", text(&task.summary)),
        ("workflow", text(task.workflow.as_str())),
        ("status", text(task.status.as_str())),
        ("version", FieldValue::Integer(version)),
        ("branch", text(task.branch.as_str())),
        ("harness", text(task.harness.as_str())),
        ("review_harness", text(task.review_harness.as_str())),
        ("crash_count", FieldValue::Integer(task.crash_count)),
        ("workspace", workspace),
        ("attention", attention),
    ]);
    fields
}
