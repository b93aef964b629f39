//! Which tasks were created for an issue.
//!
//! A row is written in the transaction that creates the task. The same transaction checks the
//! existing rows: however many processes see an issue at once, only one task is created for it.

use orange_engine::Task;
use orange_engine::forge::issue::Revision;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::role::Role;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{issues, tasks, texts};
use crate::Store;
use crate::error::{StoreError, failed};

/// A task that was created for an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueTask {
    pub task: TaskId,
    /// The text that it was created for.
    pub revision: Revision,
}

impl Store {
    /// The tasks that were created for an issue, deleted ones included.
    pub fn tasks_of_issue(
        &self,
        project: &ProjectName,
        issue: &str,
    ) -> Result<Vec<IssueTask>, StoreError> {
        tasks_of(&self.connection, project, issue)
    }

    /// The issue of a task as its agent reads it; `None` for a task that a rebuild restored.
    pub(crate) fn issue_text(&self, task: &TaskId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM issue_tasks WHERE task = ?1 AND text IS NOT NULL";
        let hash: Option<String> = self
            .connection
            .query_row(sql, [task.as_str()], |row| row.get(0))
            .optional()
            .map_err(failed("read the issue of a task"))?;
        hash.map_or(Ok(None), |hash| texts::find(&self.connection, &hash))
    }
}

/// Refuses a second unfinished task for an issue. A task that orange itself asks for is also
/// refused if the same text of the issue already had a task, or if the user ignores that text.
pub(crate) fn require_free(
    connection: &Connection,
    task: &Task,
    by: &Role,
) -> Result<(), StoreError> {
    let Some(link) = &task.issue else {
        return Ok(());
    };
    for earlier in tasks_of(connection, &task.project, &link.id)? {
        let is_same_text = earlier.revision == link.revision && *by == Role::Engine;
        let ended = tasks::is_ended(connection, &earlier.task)?;
        if is_same_text || !ended {
            return Err(StoreError::IssueTaken {
                number: link.number,
                task: earlier.task,
            });
        }
    }
    let stored = issues::find(connection, &task.project, link.number)?;
    let ignored = stored.and_then(|it| it.ignored);
    if *by == Role::Engine && ignored.as_ref() == Some(&link.revision) {
        return Err(StoreError::IssueIgnored {
            number: link.number,
        });
    }
    Ok(())
}

/// Writes the row of a new task, if it is for an issue.
pub(crate) fn insert(connection: &Connection, task: &Task) -> Result<(), StoreError> {
    let Some(link) = &task.issue else {
        return Ok(());
    };
    let revision = link.revision.as_str();
    connection
        .execute(
            "INSERT INTO issue_tasks (task, project, issue, revision) VALUES (?1, ?2, ?3, ?4)",
            params![task.id.as_str(), task.project.as_str(), link.id, revision],
        )
        .map_err(failed("record the issue of a task"))?;
    Ok(())
}

/// Keeps the issue as the agent reads it.
pub(crate) fn keep_text(
    connection: &Connection,
    task: &TaskId,
    text: &str,
) -> Result<(), StoreError> {
    let hash = texts::keep(connection, text)?;
    connection
        .execute(
            "UPDATE issue_tasks SET text = ?2 WHERE task = ?1",
            params![task.as_str(), hash],
        )
        .map_err(failed("record the issue of a task"))?;
    Ok(())
}

fn tasks_of(
    connection: &Connection,
    project: &ProjectName,
    issue: &str,
) -> Result<Vec<IssueTask>, StoreError> {
    let attempt = || failed("find the tasks of an issue");
    let sql = "SELECT task, revision FROM issue_tasks WHERE project = ?1 AND issue = ?2
               ORDER BY rowid";
    let mut statement = connection.prepare(sql).map_err(attempt())?;
    let found = statement.query_map([project.as_str(), issue], |row| {
        Ok(IssueTask {
            task: TaskId::new(row.get::<_, String>(0)?),
            revision: Revision::from_text(&row.get::<_, String>(1)?),
        })
    });
    let found: Result<Vec<_>, _> = found.map_err(attempt())?.collect();
    found.map_err(attempt())
}
