//! Messages for agents, kept until they are read.

use orange_engine::effect::EffectId;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::{StoreError, failed};

/// A message to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage<'a> {
    pub to: Role,
    pub from: Role,
    pub text: &'a str,
    /// The effect that writes it; a second write for the same effect changes nothing.
    pub effect: Option<EffectId>,
    pub at: Timestamp,
}

/// A message that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct InboxEntry {
    /// Its number.
    pub id: u64,
    /// The role it is for.
    pub to: Role,
    /// The role that sent it.
    pub from: Role,
    /// Its text.
    pub text: String,
    /// The effect that wrote it.
    pub effect: Option<EffectId>,
    /// When it was written.
    pub written_at: Timestamp,
    /// When it was read.
    pub read_at: Option<Timestamp>,
    /// How far its delivery is.
    #[serde(default, flatten)]
    pub delivery: Delivery,
}

/// How far the delivery of a message is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Delivery {
    /// The run whose terminal got the nudge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed_run: Option<RunId>,
    /// When the nudge was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed_at: Option<Timestamp>,
    /// When the nudge was sent with Enter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// When the agent confirmed the nudge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    /// What prevents the delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An unread message and its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadMessage {
    pub task: TaskId,
    pub entry: InboxEntry,
}

const COLUMNS: &str = "id, to_role, from_role, text, effect, written_at, read_at, typed_run,
    typed_at, sent_at, confirmed_at, problem";

impl Store {
    /// Writes a message and returns its number.
    pub fn write_message(
        &mut self,
        task: &TaskId,
        message: &NewMessage<'_>,
    ) -> Result<u64, StoreError> {
        let writing = self.write("write a message")?;
        let id = writing
            .transaction
            .query_row(
                "INSERT INTO inbox (task, to_role, from_role, text, effect, written_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (task, effect) DO UPDATE SET effect = excluded.effect RETURNING id",
                params![
                    task.as_str(),
                    message.to.as_str(),
                    message.from.as_str(),
                    message.text,
                    message.effect.map(|effect| effect.0),
                    message.at.to_string(),
                ],
                |row| row.get(0),
            )
            .map_err(failed("write a message"))?;
        writing.commit()?;
        Ok(id)
    }

    /// The messages of a task in order, including read ones.
    pub fn inbox(&self, task: &TaskId) -> Result<Vec<InboxEntry>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM inbox WHERE task = ?1 ORDER BY id");
        let attempt = "read the inbox";
        let mut statement = self.connection.prepare(&sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map([task.as_str()], entry)
            .map_err(failed(attempt))?;
        rows.map(|row| row.map_err(failed(attempt))).collect()
    }

    /// The unread messages of all existing tasks.
    pub fn all_unread(&self) -> Result<Vec<UnreadMessage>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, task FROM inbox WHERE read_at IS NULL
             AND task IN (SELECT task FROM task_rows) ORDER BY id"
        );
        let attempt = "read unread messages";
        let mut statement = self.connection.prepare(&sql).map_err(failed(attempt))?;
        let unread = |row: &Row<'_>| {
            let task: String = row.get(12)?;
            let (task, entry) = (TaskId::new(task), entry(row)?);
            Ok(UnreadMessage { task, entry })
        };
        let rows = statement.query_map([], unread).map_err(failed(attempt))?;
        rows.map(|row| row.map_err(failed(attempt))).collect()
    }

    /// Records a message's delivery progress.
    pub fn set_delivery(&mut self, id: u64, delivery: &Delivery) -> Result<(), StoreError> {
        let writing = self.write_lazily("record the delivery of a message")?;
        let at = |at: Option<Timestamp>| at.map(|at| at.to_string());
        writing
            .transaction
            .execute(
                "UPDATE inbox SET typed_run = ?2, typed_at = ?3, sent_at = ?4, confirmed_at = ?5,
                     problem = ?6 WHERE id = ?1 AND read_at IS NULL",
                params![
                    id,
                    delivery.typed_run.as_ref().map(RunId::as_str),
                    at(delivery.typed_at),
                    at(delivery.sent_at),
                    at(delivery.confirmed_at),
                    delivery.problem,
                ],
            )
            .map_err(failed("record the delivery of a message"))?;
        writing.commit()?;
        Ok(())
    }

    /// Marks everything up to a message as read by a role; returns how many were unread.
    pub fn mark_read(
        &mut self,
        task: &TaskId,
        to: &Role,
        up_to: u64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let writing = self.write("record that messages were read")?;
        let read = writing
            .transaction
            .execute(
                "UPDATE inbox SET read_at = ?4, problem = NULL
                 WHERE task = ?1 AND to_role = ?2 AND id <= ?3 AND read_at IS NULL",
                params![task.as_str(), to.as_str(), up_to, now.to_string()],
            )
            .map_err(failed("record that messages were read"))?;
        writing.commit()?;
        Ok(read)
    }
}

/// Restores an entry; it gets another number only if its own is taken, for example by a message
/// written while the task's directory was missing.
pub(crate) fn restore(
    connection: &Connection,
    task: &TaskId,
    entry: &InboxEntry,
) -> Result<(), StoreError> {
    let delivery = &entry.delivery;
    let at = |at: Option<Timestamp>| at.map(|at| at.to_string());
    connection
        .execute(
            "INSERT INTO inbox (task, to_role, from_role, text, effect, written_at, read_at,
                 typed_run, typed_at, sent_at, confirmed_at, problem, id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10, ?11, ?12, ?13,
                 (SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE id = ?8) THEN NULL ELSE ?8 END))",
            params![
                task.as_str(),
                entry.to.as_str(),
                entry.from.as_str(),
                entry.text,
                entry.effect.map(|effect| effect.0),
                entry.written_at.to_string(),
                at(entry.read_at),
                entry.id,
                delivery.typed_run.as_ref().map(RunId::as_str),
                at(delivery.typed_at),
                at(delivery.sent_at),
                at(delivery.confirmed_at),
                delivery.problem,
            ],
        )
        .map_err(failed("restore a message"))?;
    Ok(())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<InboxEntry> {
    let to: String = row.get(1)?;
    let from: String = row.get(2)?;
    let effect: Option<u64> = row.get(4)?;
    let written_at: String = row.get(5)?;
    let instant = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.and_then(|text| Timestamp::parse(&text).ok()))
    };
    let typed_run: Option<String> = row.get(7)?;
    Ok(InboxEntry {
        id: row.get(0)?,
        to: Role::from_name(&to),
        from: Role::from_name(&from),
        text: row.get(3)?,
        effect: effect.map(EffectId),
        written_at: Timestamp::parse(&written_at).unwrap_or_default(),
        read_at: instant(6)?,
        delivery: Delivery {
            typed_run: typed_run.map(RunId::new),
            typed_at: instant(8)?,
            sent_at: instant(9)?,
            confirmed_at: instant(10)?,
            problem: row.get(11)?,
        },
    })
}
