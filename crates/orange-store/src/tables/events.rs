//! The event table: what happened, in order.

use orange_engine::event::{Event, Fact};
use orange_engine::names::{Status, TaskId};
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// An event with its task and the commit that recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    pub task: TaskId,
    pub sequence: u64,
    pub event: Event,
}

impl Store {
    /// The events of a task with a version above this one, in order.
    pub fn events(&self, task: &TaskId, after: u64) -> Result<Vec<RecordedEvent>, StoreError> {
        of_task(&self.connection, task, after)
    }

    /// When a task was created.
    pub fn created_at(&self, task: &TaskId) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.event(task, 1)?.map(|it| it.at))
    }

    /// The event of a task that has this version.
    pub(crate) fn event(&self, task: &TaskId, version: u64) -> Result<Option<Event>, StoreError> {
        let sql = "SELECT task, sequence, event FROM events WHERE task = ?1 AND version = ?2";
        let found = self
            .connection
            .query_row(sql, params![task.as_str(), version], raw)
            .optional()
            .map_err(failed("read an event"))?;
        Ok(found.map(parse_row).transpose()?.map(|found| found.event))
    }

    /// The time of a task's last event.
    pub fn last_event_at(&self, task: &TaskId) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT task, sequence, event FROM events WHERE task = ?1
                   ORDER BY version DESC LIMIT 1";
        let found = self
            .connection
            .query_row(sql, [task.as_str()], raw)
            .optional()
            .map_err(failed("read an event"))?;
        Ok(found
            .map(parse_row)
            .transpose()?
            .map(|found| found.event.at))
    }

    /// The events of all tasks from commits after this one, in order.
    pub fn events_since(&self, sequence: u64) -> Result<Vec<RecordedEvent>, StoreError> {
        let sql = "SELECT task, sequence, event FROM events WHERE sequence > ?1
                   ORDER BY sequence, task, version";
        let mut statement = self
            .connection
            .prepare(sql)
            .map_err(failed("read events"))?;
        let rows = statement
            .query_map([sequence], raw)
            .map_err(failed("read events"))?;
        rows.map(|row| parse_row(row.map_err(failed("read events"))?))
            .collect()
    }
}

/// A task that a commit has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    pub sequence: u64,
    pub task: TaskId,
    /// Its version after the commit.
    pub version: u64,
    /// Its status after the commit.
    pub status: Status,
}

impl Store {
    /// The tasks that commits after this one have changed, in the order of the commits; at most as
    /// many as `limit`.
    pub fn changes_after(&self, sequence: u64, limit: usize) -> Result<Vec<ChangeRow>, StoreError> {
        let attempt = "read what has changed";
        let sql = "SELECT sequence, task, MAX(version) FROM events WHERE sequence > ?1
                   GROUP BY sequence, task ORDER BY sequence, task LIMIT ?2";
        let mut statement = self.connection.prepare(sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map(params![sequence, limit], |row| {
                Ok((
                    row.get::<_, u64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, u64>(2)?,
                ))
            })
            .map_err(failed(attempt))?;
        let mut changes = Vec::new();
        for row in rows {
            let (sequence, task, version) = row.map_err(failed(attempt))?;
            let task = TaskId::new(task);
            // Every task has a status from its first event on.
            let Some(status) = self.status_at(&task, version)? else {
                continue;
            };
            changes.push(ChangeRow {
                sequence,
                task,
                version,
                status,
            });
        }
        Ok(changes)
    }
}

/// An event that needs the user's attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionEvent {
    pub task: TaskId,
    pub at: Timestamp,
    /// Its message; the task's reason for attention ends with it.
    pub text: String,
    /// Whether it is a failed effect.
    pub is_effect_failure: bool,
}

impl Store {
    /// The events of the tasks that need the user's attention, the latest first.
    pub fn attention_events(&self) -> Result<Vec<AttentionEvent>, StoreError> {
        let attempt = "read why a task needs attention";
        let sql = "SELECT task, sequence, event FROM events
                   WHERE task IN (SELECT task FROM task_rows WHERE attention <> '[]')
                   AND event ->> 'type' IN ('attention.raised', 'effect.failed')
                   ORDER BY task, version DESC";
        let mut statement = self.connection.prepare(sql).map_err(failed(attempt))?;
        let rows = statement.query_map([], raw).map_err(failed(attempt))?;
        let mut raised = Vec::new();
        for row in rows {
            let found = parse_row(row.map_err(failed(attempt))?)?;
            let (text, is_effect_failure) = match found.event.fact {
                Fact::AttentionRaised { reason } => (reason, false),
                Fact::EffectFailed { error, .. } => (error, true),
                _ => continue,
            };
            raised.push(AttentionEvent {
                task: found.task,
                at: found.event.at,
                text,
                is_effect_failure,
            });
        }
        Ok(raised)
    }

    /// The status of a task at a version; `None` for a version it never had.
    pub(crate) fn status_at(
        &self,
        task: &TaskId,
        version: u64,
    ) -> Result<Option<Status>, StoreError> {
        let sql = "SELECT task, sequence, event FROM events
                   WHERE task = ?1 AND version <= ?2
                   AND event ->> 'type' IN ('status.changed', 'task.created')
                   AND EXISTS (SELECT 1 FROM events WHERE task = ?1 AND version = ?2)
                   ORDER BY version DESC LIMIT 1";
        let found = self
            .connection
            .query_row(sql, params![task.as_str(), version], raw)
            .optional()
            .map_err(failed("read events"))?;
        let found = found.map(parse_row).transpose()?;
        Ok(found.and_then(|found| match found.event.fact {
            Fact::StatusChanged(changed) => Some(changed.to),
            Fact::TaskCreated(created) => Some(created.status),
            _ => None,
        }))
    }
}

/// The events of a task with a version above this one, in order.
pub(crate) fn of_task(
    connection: &Connection,
    task: &TaskId,
    after: u64,
) -> Result<Vec<RecordedEvent>, StoreError> {
    let sql = "SELECT task, sequence, event FROM events WHERE task = ?1 AND version > ?2
               ORDER BY version";
    let mut statement = connection.prepare(sql).map_err(failed("read events"))?;
    let rows = statement
        .query_map(params![task.as_str(), after], raw)
        .map_err(failed("read events"))?;
    rows.map(|row| parse_row(row.map_err(failed("read events"))?))
        .collect()
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawEvent {
    pub(crate) version: u64,
    pub(crate) sequence: u64,
    pub(crate) json: String,
}

/// The events of a task, byte for byte and in order.
pub(crate) fn raw_of_task(
    connection: &Connection,
    task: &TaskId,
) -> Result<Vec<RawEvent>, StoreError> {
    let sql = "SELECT version, sequence, event FROM events WHERE task = ?1 ORDER BY version";
    let mut statement = connection.prepare(sql).map_err(failed("read events"))?;
    let rows = statement
        .query_map([task.as_str()], |row| {
            Ok(RawEvent {
                version: row.get(0)?,
                sequence: row.get(1)?,
                json: row.get(2)?,
            })
        })
        .map_err(failed("read events"))?;
    rows.map(|row| row.map_err(failed("read events"))).collect()
}

fn raw(row: &Row<'_>) -> rusqlite::Result<(String, u64, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn parse_row((task, sequence, event): (String, u64, String)) -> Result<RecordedEvent, StoreError> {
    let task = TaskId::new(task);
    let event =
        serde_json::from_str(&event).map_err(|error| StoreError::event(&task, &event, &error))?;
    Ok(RecordedEvent {
        task,
        sequence,
        event,
    })
}

/// Appends an event; each version can be used once.
pub(crate) fn append(
    connection: &Connection,
    task: &TaskId,
    sequence: u64,
    event: &Event,
) -> Result<(), StoreError> {
    let json =
        serde_json::to_string(event).map_err(|error| StoreError::json("an event", task, &error))?;
    connection
        .execute(
            "INSERT INTO events (task, version, sequence, at, event) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                task.as_str(),
                event.version,
                sequence,
                event.at.to_string(),
                json
            ],
        )
        .map_err(failed("append an event"))?;
    Ok(())
}

/// Stores an event as its author wrote it.
pub(crate) fn set_json(
    connection: &Connection,
    task: &TaskId,
    event: &Event,
    json: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE events SET event = ?3 WHERE task = ?1 AND version = ?2 AND event <> ?3";
    connection
        .execute(sql, params![task.as_str(), event.version, json])
        .map_err(failed("keep an event as it was written"))?;
    Ok(())
}
