//! Restores the database from the task directories, up to the last projection.
//!
//! The new database is built beside the old one and renamed into place at the end; the old one is
//! renamed, never deleted. An unreadable task directory is reported and left as it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_config::Home;
use orange_engine::document::Document;
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::task::{Task, Workspace};
use rusqlite::{Connection, TransactionBehavior};

use super::Store;
use super::error::{StoreError, failed};
use super::replayed::{extend, insert_first};
use crate::files::history;
use crate::files::history::History;
use crate::files::task_directory::TaskDirectory;
use crate::files::task_file::locate;
use crate::files::trash;
use crate::files::whole_file;
use crate::migrations::renames;
use crate::steps::reach;
use crate::tables::imports::Import;
use crate::tables::inbox::InboxEntry;
use crate::tables::runs::RunRecord;
use crate::tables::{imports, inbox, pending, runs, tasks, workspaces};

/// What a rebuild restored, and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// The restored tasks.
    pub tasks: Vec<RebuiltTask>,
    /// The directories that were left alone.
    pub skipped: Vec<SkippedTask>,
    /// Free workspaces that were added to the pool again.
    pub workspaces: Vec<WorkspaceName>,
    /// The new path of the old database.
    pub old_database: Option<PathBuf>,
}

/// A restored task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuiltTask {
    pub task: TaskId,
    /// Its restored version: events after the last projection are lost.
    pub version: u64,
    /// Problems found, one sentence each.
    pub remarks: Vec<String>,
}

/// A task directory that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTask {
    pub path: PathBuf,
    pub reason: String,
}

/// Rebuilds the database from the task directories.
pub fn rebuild(home: &Home) -> Result<RebuildReport, StoreError> {
    super::open::make_private(home.path())?;
    let path = home.database();
    // Histories of a newer version may have events that this one cannot read.
    super::open::refuse_newer(&path)?;
    let new = with_suffix(&path, ".rebuilding");
    remove_database(&new)?;
    let mut report = RebuildReport::default();
    {
        let mut store = Store::open_at(&new, home)?;
        restore_all(&mut store, &mut report)?;
        // Everything must be in the one file that is about to be renamed.
        store
            .connection
            .pragma_update(None, "journal_mode", "DELETE")
            .map_err(failed("finish the new database"))?;
    }
    reach("the new database is made");
    report.old_database = put_in_place(&new, &path)?;
    Ok(report)
}

fn restore_all(store: &mut Store, report: &mut RebuildReport) -> Result<(), StoreError> {
    let home = store.home.clone();
    let transaction = store
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed("rebuild"))?;
    let mut sequence = 0;
    for project in directories(&home.tasks())?
        .into_iter()
        .chain(directories(&home.trash())?)
    {
        for path in task_directories(&home, &project)? {
            // A task is restored completely or not at all.
            transaction
                .execute_batch("SAVEPOINT task")
                .map_err(failed("rebuild"))?;
            match restore_task(&transaction, &home, &project, &path) {
                Ok((task, last)) => {
                    sequence = sequence.max(last);
                    report.tasks.push(task);
                    transaction.execute_batch("RELEASE task")
                }
                Err(reason) => {
                    report.skipped.push(SkippedTask { path, reason });
                    transaction.execute_batch("ROLLBACK TO task; RELEASE task")
                }
            }
            .map_err(failed("rebuild"))?;
        }
    }
    transaction
        .execute("UPDATE sequence SET last = ?1", [sequence])
        .map_err(failed("rebuild"))?;
    transaction.commit().map_err(failed("rebuild"))
}

/// The directories of a project's tasks, in `tasks` or in the trash. A task whose directory is in
/// both places counts as not deleted.
fn task_directories(home: &Home, project: &Path) -> Result<Vec<PathBuf>, StoreError> {
    if project.parent() != Some(home.trash().as_path()) {
        return directories(project);
    }
    let name = project.file_name().unwrap_or_default();
    let is_gone = |id: &TaskId| !home.tasks().join(name).join(id.as_str()).exists();
    let deleted = trash::deleted_tasks(project).into_iter();
    Ok(deleted
        .filter(|(id, _)| is_gone(id))
        .map(|(_, path)| path)
        .collect())
}

/// The subdirectories of a directory, ordered by name.
fn directories(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let list_error = |error: io::Error| StoreError::file("list", path, &error);
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(list_error)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(list_error)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Restores a task; returns it with its last sequence number, or why it cannot be restored.
fn restore_task(
    connection: &Connection,
    home: &Home,
    project: &Path,
    path: &Path,
) -> Result<(RebuiltTask, u64), String> {
    let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
    let no_name = || String::from("its name is not UTF-8");
    let is_in_trash = path.starts_with(home.trash());
    let id = name(path).ok_or_else(no_name)?;
    let id = TaskId::new(match id.split_once('-') {
        Some((task, _number)) if is_in_trash => task,
        _ => id.as_str(),
    });
    let project = ProjectName::new(name(project).ok_or_else(no_name)?);
    let directory = TaskDirectory::new(home, &project, &id).map_err(|error| error.to_string())?;
    let directory = directory.lying_at(path);
    let workflow = fs::read_to_string(directory.workflow())
        .map_err(|error| format!("`workflow.yml`: {}", orange_config::reason(&error)))?;
    let history = history::read(&directory.history())
        .map_err(|reason| format!("`history.jsonl`: {reason}"))?;
    let mut remarks = Vec::new();
    if history.is_truncated {
        remarks.push(String::from(
            "the last line of `history.jsonl` was cut short and is left out",
        ));
    }
    let document = last_imported_text(&directory, &mut remarks);
    let (task, last) = replay(
        connection,
        &directory,
        &history,
        &workflow,
        document.as_ref(),
    )
    .map_err(|error| error.to_string())?;
    if task.id != id || task.project != project {
        let (id, project) = (&task.id, &task.project);
        return Err(format!(
            "its history belongs to task `{id}` of project `{project}`"
        ));
    }
    if is_in_trash && !task.is_deleted {
        return Err(String::from(
            "it is in the trash, but its history does not say that it was deleted",
        ));
    }
    restore_notes(connection, &directory, &task, &mut remarks)
        .map_err(|error| error.to_string())?;
    let version = task.version;
    let task = RebuiltTask {
        task: id,
        version,
        remarks,
    };
    Ok((task, last))
}

/// The text of the last import, or else of the current TASK.md.
fn last_imported_text(directory: &TaskDirectory, remarks: &mut Vec<String>) -> Option<Document> {
    let read = |path: &Path| Document::parse(&fs::read(path).ok()?).ok();
    let (live, _) = locate(directory);
    let document = read(&live);
    if document.is_none() {
        remarks.push(format!(
            "`{}` cannot be read; it is restored from the last import when it is needed",
            live.display()
        ));
    }
    read(&directory.imported_file()).or(document)
}

/// Replays a history into the new database, with everything derived from it.
fn replay(
    connection: &Connection,
    directory: &TaskDirectory,
    history: &History,
    workflow: &str,
    document: Option<&Document>,
) -> Result<(Task, u64), StoreError> {
    let (first, rest) = match history.lines.split_first() {
        Some((first, rest)) => (Some(first), rest),
        None => (None, &[][..]),
    };
    let sequence = first.map_or(0, |line| line.sequence);
    let event = first.map(|line| &line.event);
    let task = insert_first(connection, sequence, event, workflow, directory)?;
    // Workspaces are restored from the links in the task directory. The history does not contain the
    // texts of imports, so only the last one is restored.
    let rest = rest.iter().map(|line| (line.sequence, &line.event));
    let task = extend(connection, task, rest)?;
    let backwards = history.lines.iter().rev().map(|line| &line.event);
    if let Some(import) = document.and_then(|text| Import::last_of(backwards, text)) {
        imports::insert(connection, &task.id, &import)?;
    }
    pending::keep(connection, &task, &[])?;
    let last = history.lines.last();
    let (sequence, at) = last.map_or_else(Default::default, |it| (it.sequence, it.event.at));
    pending::mark_as_started(connection, &task.id, "a process before the rebuild", at)?;
    tasks::update(connection, &task, sequence)?;
    Ok((task, sequence))
}

/// Restores what the events do not contain: details of runs, messages and the workspace.
fn restore_notes(
    connection: &Connection,
    directory: &TaskDirectory,
    task: &Task,
    remarks: &mut Vec<String>,
) -> Result<(), StoreError> {
    for path in directories(&directory.runs())? {
        let path = path.join("run.json");
        let Ok(bytes) = fs::read(&path) else { continue };
        match renames::read::<RunRecord>(&bytes) {
            Ok(record) if record.task == task.id => match runs::restore(connection, &record) {
                Err(StoreError::UnknownRun { run, .. }) => {
                    remarks.push(format!("no event mentions run `{run}`; it is left out"));
                }
                restored => restored?,
            },
            Ok(_) => remarks.push(format!("`{}` belongs to another task", path.display())),
            Err(error) => remarks.push(format!("`{}`: {error}", path.display())),
        }
    }
    if let Ok(bytes) = fs::read(directory.inbox()) {
        match renames::read::<Vec<InboxEntry>>(&bytes) {
            Ok(entries) => {
                for entry in entries {
                    inbox::restore(connection, &task.id, &entry)?;
                }
            }
            Err(error) => remarks.push(format!("`inbox.json`: {error}")),
        }
    }
    if let Workspace::Bound(name) | Workspace::Releasing(Some(name)) = &task.workspace {
        restore_workspace(connection, directory, task, name, remarks)?;
    }
    Ok(())
}

/// Restores the task's workspace; the link in the task directory gives its path.
fn restore_workspace(
    connection: &Connection,
    directory: &TaskDirectory,
    task: &Task,
    name: &WorkspaceName,
    remarks: &mut Vec<String>,
) -> Result<(), StoreError> {
    let number = name.as_str().rsplit("--").next();
    let (live, bound) = locate(directory);
    let worktree = live.parent().filter(|_| bound);
    let (Some(path), Some(number)) = (worktree, number.and_then(|text| text.parse().ok())) else {
        remarks.push(format!("cannot find workspace `{name}`"));
        return Ok(());
    };
    workspaces::insert(connection, name, &task.project, number, path)?;
    workspaces::restore(connection, name, &task.id)
}

/// Renames the new database into place; returns the new path of the old one.
fn put_in_place(new: &Path, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    // While this process holds the old database's write lock, no other process writes to it. A
    // process that waits for the lock then sees that the file was replaced. A database that cannot
    // be opened has no writers.
    let mut old = path.exists().then(|| Connection::open(path).ok()).flatten();
    let guard = old.as_mut().and_then(|old| {
        old.transaction_with_behavior(TransactionBehavior::Immediate)
            .ok()
    });
    let aside = backup_path(path);
    // The WAL belongs to the old database and moves with it, because it would damage the new one.
    for suffix in ["", "-wal", "-shm"] {
        let from = with_suffix(path, suffix);
        if from.exists() {
            whole_file::rename(&from, &with_suffix(&aside, suffix))?;
        }
    }
    whole_file::rename(new, path)?;
    whole_file::sync_directory_of(path)?;
    drop(guard);
    Ok(aside.exists().then_some(aside))
}

/// The new path of the old database. If an interrupted rebuild has already moved the old database,
/// this is the path chosen then.
fn backup_path(path: &Path) -> PathBuf {
    let numbered = |number: u32| with_suffix(path, &format!(".before-rebuild-{number}"));
    let mut number = 1;
    while numbered(number).exists() {
        number += 1;
    }
    if !path.exists() && number > 1 {
        number -= 1;
    }
    numbered(number)
}

fn remove_database(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        whole_file::remove(&with_suffix(path, suffix))?;
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
