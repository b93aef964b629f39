//! Messages that wait for an agent until it reads them.

use orange_engine::effect::EffectId;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::Store;
use super::error::{StoreError, failed};

/// A message to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage<'a> {
    /// To whom.
    pub to: Role,
    /// From whom.
    pub from: Role,
    /// What.
    pub text: &'a str,
    /// The effect that writes it; a second write for the same effect changes nothing.
    pub effect: Option<EffectId>,
    /// When.
    pub at: Timestamp,
}

/// A message that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct InboxEntry {
    /// Its number.
    pub id: u64,
    /// To whom.
    pub to: Role,
    /// From whom.
    pub from: Role,
    /// What.
    pub text: String,
    /// The effect that wrote it.
    pub effect: Option<EffectId>,
    /// When it was written.
    pub written_at: Timestamp,
    /// When it was read.
    pub read_at: Option<Timestamp>,
}

impl Store {
    /// Writes a message and answers with its number.
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

    /// The messages of a task in order, read ones included.
    pub fn inbox(&self, task: &TaskId) -> Result<Vec<InboxEntry>, StoreError> {
        let sql = "SELECT id, to_role, from_role, text, effect, written_at, read_at FROM inbox
                   WHERE task = ?1 ORDER BY id";
        let attempt = "read the inbox";
        let mut statement = self.connection.prepare(sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map([task.as_str()], entry)
            .map_err(failed(attempt))?;
        rows.map(|row| row.map_err(failed(attempt))).collect()
    }

    /// Notes that a role has read everything up to a message; answers with how many were new.
    pub fn mark_read(
        &mut self,
        task: &TaskId,
        to: &Role,
        up_to: u64,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let writing = self.write("note that messages were read")?;
        let read = writing
            .transaction
            .execute(
                "UPDATE inbox SET read_at = ?4
                 WHERE task = ?1 AND to_role = ?2 AND id <= ?3 AND read_at IS NULL",
                params![task.as_str(), to.as_str(), up_to, now.to_string()],
            )
            .map_err(failed("note that messages were read"))?;
        writing.commit()?;
        Ok(read)
    }
}

/// Writes an entry back as it was; it gets another number only if its own is taken, as by what was
/// written while its directory was away.
pub(super) fn restore(
    connection: &Connection,
    task: &TaskId,
    entry: &InboxEntry,
) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO inbox (task, to_role, from_role, text, effect, written_at, read_at, id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                 (SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE id = ?8) THEN NULL ELSE ?8 END))",
            params![
                task.as_str(),
                entry.to.as_str(),
                entry.from.as_str(),
                entry.text,
                entry.effect.map(|effect| effect.0),
                entry.written_at.to_string(),
                entry.read_at.map(|at| at.to_string()),
                entry.id,
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
    let read_at: Option<String> = row.get(6)?;
    Ok(InboxEntry {
        id: row.get(0)?,
        to: Role::named(&to),
        from: Role::named(&from),
        text: row.get(3)?,
        effect: effect.map(EffectId),
        written_at: Timestamp::parse(&written_at).unwrap_or_default(),
        read_at: read_at.and_then(|at| Timestamp::parse(&at).ok()),
    })
}
