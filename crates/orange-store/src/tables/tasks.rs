//! The task table: snapshots for quick loading.

use std::path::{Path, PathBuf};

use orange_engine::Task;
use orange_engine::apply::replay;
use orange_engine::language::load;
use orange_engine::names::{BranchName, ProjectName, Status, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};

use super::{events, rows, texts};
use crate::Store;
use crate::error::{StoreError, failed};

/// A task with its pinned workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTask {
    pub task: Task,
    /// The text of the workflow that the task is pinned to, byte for byte.
    pub workflow_text: String,
    pub directory: PathBuf,
    /// The commit that changed it last.
    pub sequence: u64,
}

impl StoredTask {
    /// Whether the task is in a terminal status. False if its workflow cannot be read.
    pub fn has_ended(&self) -> bool {
        let workflow = load(&self.workflow_text).workflow;
        workflow.is_some_and(|it| it.is_terminal(&self.task.status))
    }
}

/// A task as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    pub task: Task,
    /// The commit that changed it last.
    pub sequence: u64,
}

/// Which tasks to list; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    pub project: Option<ProjectName>,
    pub status: Option<Status>,
}

/// Tasks as of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The last commit it includes.
    pub sequence: u64,
    /// The tasks, ordered by project and id.
    pub tasks: Vec<TaskSummary>,
}

impl Store {
    /// The text of every workflow that a task is pinned to.
    pub fn workflow_texts(&self) -> Result<Vec<String>, StoreError> {
        let attempt = "list the workflows";
        let sql = "SELECT DISTINCT workflow_hash FROM tasks";
        let mut statement = self.connection.prepare(sql).map_err(failed(attempt))?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        let mut found = Vec::new();
        for hash in rows.map_err(failed(attempt))? {
            let hash = hash.map_err(failed(attempt))?;
            found.extend(texts::find(&self.connection, &hash)?);
        }
        Ok(found)
    }

    pub fn load(&self, task: &TaskId) -> Result<Option<StoredTask>, StoreError> {
        let sql = "SELECT snapshot, sequence, directory, workflow_hash FROM tasks WHERE id = ?1";
        let found = self
            .connection
            .query_row(sql, [task.as_str()], |row| {
                let hash: String = row.get(3)?;
                let directory: String = row.get(2)?;
                Ok((raw(row)?, directory, hash))
            })
            .optional()
            .map_err(failed("load a task"))?;
        let Some(((snapshot, sequence), directory, hash)) = found else {
            return Ok(None);
        };
        let workflow_text = texts::find(&self.connection, &hash)?.unwrap_or_default();
        Ok(Some(StoredTask {
            task: task_of_snapshot(&self.connection, task, &snapshot)?,
            workflow_text,
            directory: self.home.path().join(directory),
            sequence,
        }))
    }

    /// The task with this id, which must exist.
    pub fn require(&self, task: &TaskId) -> Result<StoredTask, StoreError> {
        self.load(task)?
            .ok_or_else(|| StoreError::UnknownTask { task: task.clone() })
    }

    /// The tasks on this branch, ordered by project and id; deleted ones are left out.
    pub fn tasks_on_branch(&self, branch: &str) -> Result<Vec<Task>, StoreError> {
        let sql = "SELECT id FROM task_rows JOIN tasks ON tasks.id = task_rows.task
                   WHERE branch = ?1 ORDER BY tasks.project, id";
        self.select_tasks(sql, &[&branch])
    }

    /// The tasks whose id starts with this prefix, ordered by project and id; deleted ones are left
    /// out.
    pub fn tasks_beginning_with(&self, prefix: &str) -> Result<Vec<Task>, StoreError> {
        // No character sorts after this one, so the range covers every id with this prefix.
        let end = format!("{prefix}\u{10FFFF}");
        let sql = "SELECT id FROM tasks WHERE id >= ?1 AND id < ?2 ORDER BY project, id";
        let tasks = self.select_tasks(sql, &[&prefix, &end])?;
        Ok(tasks.into_iter().filter(|task| !task.is_deleted).collect())
    }

    /// The deleted tasks, ordered by project and id.
    pub fn deleted_tasks(&self) -> Result<Vec<Task>, StoreError> {
        // A deleted task has no row.
        let sql = "SELECT id FROM tasks WHERE id NOT IN (SELECT task FROM task_rows)
                   ORDER BY project, id";
        let tasks = self.select_tasks(sql, &[])?;
        Ok(tasks.into_iter().filter(|task| task.is_deleted).collect())
    }

    fn select_tasks(&self, sql: &str, parameters: &[&dyn ToSql]) -> Result<Vec<Task>, StoreError> {
        let attempt = || failed("find a task");
        let mut statement = self.connection.prepare(sql).map_err(attempt())?;
        let ids = statement.query_map(parameters, |row| row.get::<_, String>(0));
        let mut tasks = Vec::new();
        for id in ids.map_err(attempt())? {
            let id = TaskId::new(id.map_err(attempt())?);
            tasks.extend(find(&self.connection, &id)?);
        }
        Ok(tasks)
    }

    /// The last commit, and the tasks that changed after an earlier one.
    pub fn changed_since(&self, sequence: u64) -> Result<(u64, Vec<TaskId>), StoreError> {
        let failed = || failed("find changed tasks");
        let snapshot = self.connection.unchecked_transaction().map_err(failed())?;
        let last = self.sequence()?;
        let sql = "SELECT id FROM tasks WHERE sequence > ?1 ORDER BY sequence";
        let mut statement = snapshot.prepare(sql).map_err(failed())?;
        let ids = statement
            .query_map([sequence], |row| row.get::<_, String>(0))
            .map_err(failed())?;
        let ids: Result<Vec<TaskId>, _> = ids.map(|id| id.map(TaskId::new)).collect();
        Ok((last, ids.map_err(failed())?))
    }

    /// The tasks that match the filter, all as of one commit; deleted ones are left out.
    pub fn list(&self, filter: &TaskFilter) -> Result<Listing, StoreError> {
        // A deferred transaction is a snapshot: everything in it is as of one commit.
        let snapshot = self
            .connection
            .unchecked_transaction()
            .map_err(failed("list tasks"))?;
        let sequence = self.sequence()?;
        let sql = "SELECT snapshot, sequence, id FROM tasks
                   WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR status = ?2)
                   ORDER BY project, id";
        let mut statement = snapshot.prepare(sql).map_err(failed("list tasks"))?;
        let project = filter.project.as_ref().map(ProjectName::as_str);
        let status = filter.status.as_ref().map(Status::as_str);
        let rows = statement
            .query_map(params![project, status], |row| {
                let id: String = row.get(2)?;
                Ok((raw(row)?, id))
            })
            .map_err(failed("list tasks"))?;
        let mut tasks = Vec::new();
        for row in rows {
            let ((folded, sequence), id) = row.map_err(failed("list tasks"))?;
            let task = task_of_snapshot(&snapshot, &TaskId::new(id), &folded)?;
            if task.is_deleted {
                continue;
            }
            tasks.push(TaskSummary { task, sequence });
        }
        Ok(Listing { sequence, tasks })
    }
}

fn raw(row: &Row<'_>) -> rusqlite::Result<(String, u64)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// The task of a snapshot; a snapshot in another format is rebuilt from the events.
pub(crate) fn task_of_snapshot(
    connection: &Connection,
    id: &TaskId,
    snapshot: &str,
) -> Result<Task, StoreError> {
    if let Ok(task) = serde_json::from_str(snapshot) {
        return Ok(task);
    }
    let events = events::of_task(connection, id, 0)?;
    replay(events.iter().map(|recorded| &recorded.event))
        .map_err(|error| StoreError::replay(id, &error))
}

/// The task, read inside a transaction.
pub(crate) fn find(connection: &Connection, id: &TaskId) -> Result<Option<Task>, StoreError> {
    let snapshot: Option<String> = connection
        .query_row(
            "SELECT snapshot FROM tasks WHERE id = ?1",
            [id.as_str()],
            |row| row.get(0),
        )
        .optional()
        .map_err(failed("load a task"))?;
    snapshot
        .map(|snapshot| task_of_snapshot(connection, id, &snapshot))
        .transpose()
}

/// Whether a task has ended. One with an unreadable workflow counts as not ended.
pub(crate) fn is_ended(connection: &Connection, id: &TaskId) -> Result<bool, StoreError> {
    let sql = "SELECT workflow_hash FROM tasks WHERE id = ?1";
    let hash: Option<String> = connection
        .query_row(sql, [id.as_str()], |row| row.get(0))
        .optional()
        .map_err(failed("load a task"))?;
    let (Some(task), Some(hash)) = (find(connection, id)?, hash) else {
        return Ok(false);
    };
    let text = texts::find(connection, &hash)?.unwrap_or_default();
    let workflow = load(&text).workflow;
    Ok(workflow.is_some_and(|it| it.is_terminal(&task.status)))
}

/// Another task of the same project that has this branch and has not ended.
///
/// One with an unreadable workflow counts as not ended.
pub(crate) fn on_branch(
    connection: &Connection,
    task: &Task,
    branch: &BranchName,
) -> Result<Option<Task>, StoreError> {
    let sql = "SELECT id, snapshot, tasks.workflow_hash
               FROM task_rows JOIN tasks ON tasks.id = task_rows.task
               WHERE branch = ?2 AND task_rows.project = ?1 AND id <> ?3";
    let parameters = params![task.project.as_str(), branch.as_str(), task.id.as_str()];
    let mut statement = connection.prepare(sql).map_err(failed("find a branch"))?;
    let rows = statement
        .query_map(parameters, |row| {
            let (id, snapshot): (String, String) = (row.get(0)?, row.get(1)?);
            Ok((id, snapshot, row.get::<_, String>(2)?))
        })
        .map_err(failed("find a branch"))?;
    for row in rows {
        let (id, snapshot, hash) = row.map_err(failed("find a branch"))?;
        let task = task_of_snapshot(connection, &TaskId::new(id), &snapshot)?;
        let text = texts::find(connection, &hash)?.unwrap_or_default();
        let workflow = load(&text).workflow;
        if !workflow.is_some_and(|it| it.is_terminal(&task.status)) {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

/// Writes the row of a new task.
pub(crate) fn insert(
    connection: &Connection,
    task: &Task,
    workflow_hash: &str,
    directory: &Path,
    sequence: u64,
) -> Result<(), StoreError> {
    let directory = directory
        .to_str()
        .ok_or_else(|| StoreError::PathNotText(directory.to_owned()))?;
    connection
        .execute(
            "INSERT INTO tasks
             (id, project, version, status, workflow, workflow_hash, snapshot, directory, sequence,
              parent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                task.id.as_str(),
                task.project.as_str(),
                task.version,
                task.status.as_str(),
                task.workflow.as_str(),
                workflow_hash,
                snapshot_of(task)?,
                directory,
                sequence,
                task.queueing.parent.as_ref().map(TaskId::as_str),
            ],
        )
        .map_err(failed("create a task"))?;
    for after in &task.queueing.after {
        let sql = "INSERT INTO dependencies (after, task) VALUES (?1, ?2)";
        connection
            .execute(sql, [after.as_str(), task.id.as_str()])
            .map_err(failed("create a task"))?;
    }
    Ok(())
}

/// Updates the row of a task.
pub(crate) fn update(
    connection: &Connection,
    task: &Task,
    sequence: u64,
) -> Result<(), StoreError> {
    connection
        .execute(
            "UPDATE tasks
             SET version = ?2, status = ?3, snapshot = ?4, sequence = ?5, workflow = ?6
             WHERE id = ?1",
            params![
                task.id.as_str(),
                task.version,
                task.status.as_str(),
                snapshot_of(task)?,
                sequence,
                task.workflow.as_str()
            ],
        )
        .map_err(failed("update a task"))?;
    rows::keep(connection, task)
}

/// Pins a task to the workflow with this hash.
pub(crate) fn set_workflow(
    connection: &Connection,
    id: &TaskId,
    hash: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE tasks SET workflow_hash = ?2 WHERE id = ?1";
    connection
        .execute(sql, params![id.as_str(), hash])
        .map_err(failed("update a task"))?;
    Ok(())
}

fn snapshot_of(task: &Task) -> Result<String, StoreError> {
    serde_json::to_string(task).map_err(|error| StoreError::json("the snapshot", &task.id, &error))
}
