//! Imported documents: the full text, and the role that imported it.

use orange_engine::document::Document;
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::texts;
use crate::Store;
use crate::error::{StoreError, failed};

/// A text to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import<'a> {
    /// The task's version with this import.
    pub version: u64,
    /// The role whose call imported it.
    pub by: Role,
    /// Whether the call requested a status.
    pub with_request: bool,
    /// Whether it was found in a replaced file.
    pub stray: bool,
    pub text: &'a str,
    pub at: Timestamp,
}

impl<'text> Import<'text> {
    /// The last import among events that are given backwards, or the creation if there was none,
    /// with this text.
    pub(crate) fn last_of<'event>(
        mut backwards: impl Iterator<Item = &'event Event>,
        document: &'text Document,
    ) -> Option<Import<'text>> {
        backwards.find_map(|event| {
            let (by, is_request) = match &event.fact {
                Fact::DocumentImported { by, is_request, .. } => (by, *is_request),
                Fact::TaskCreated(created) => (&created.by, false),
                _ => return None,
            };
            Some(Import {
                version: event.version,
                by: by.clone(),
                with_request: is_request,
                stray: false,
                text: document.text(),
                at: event.at,
            })
        })
    }
}

/// A stored text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredImport {
    /// The task's version with this import.
    pub version: u64,
    /// The role whose call imported it.
    pub by: Role,
    /// Whether the call requested a status.
    pub with_request: bool,
    /// Whether it was found in a replaced file.
    pub stray: bool,
    /// The hash of the whole text.
    pub hash: String,
    pub text: String,
    pub at: Timestamp,
}

const SELECT: &str = "SELECT version, by_role, is_request, stray, imports.hash, texts.text, at
                      FROM imports JOIN texts ON texts.hash = imports.hash WHERE task = ?1";

impl Store {
    /// Every import of a task, in order.
    pub fn imports(&self, task: &TaskId) -> Result<Vec<StoredImport>, StoreError> {
        let sql = format!("{SELECT} ORDER BY imports.id");
        let attempt = "read imports";
        let mut statement = self.connection.prepare(&sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map([task.as_str()], read_import)
            .map_err(failed(attempt))?;
        rows.map(|row| row.map_err(failed(attempt))).collect()
    }

    /// The latest import of the task's own file, from which the file is restored.
    pub fn last_import(&self, task: &TaskId) -> Result<Option<StoredImport>, StoreError> {
        let sql = format!("{SELECT} AND stray = 0 ORDER BY imports.id DESC LIMIT 1");
        self.connection
            .query_row(&sql, [task.as_str()], read_import)
            .optional()
            .map_err(failed("read the last import"))
    }

    /// Stores a text that belongs to no decision, so that it is not lost.
    pub fn keep_import(&mut self, task: &TaskId, import: &Import<'_>) -> Result<(), StoreError> {
        let writing = self.write("keep a text")?;
        insert(&writing.transaction, task, import)?;
        writing.commit()?;
        Ok(())
    }
}

fn read_import(row: &Row<'_>) -> rusqlite::Result<StoredImport> {
    let by: String = row.get(1)?;
    let text: Vec<u8> = row.get(5)?;
    let at: String = row.get(6)?;
    Ok(StoredImport {
        version: row.get(0)?,
        by: Role::from_name(&by),
        with_request: row.get(2)?,
        stray: row.get(3)?,
        hash: row.get(4)?,
        text: String::from_utf8_lossy(&text).into_owned(),
        at: Timestamp::parse(&at).unwrap_or_default(),
    })
}

/// Writes an import, even of a text that is already stored.
pub(crate) fn insert(
    connection: &Connection,
    task: &TaskId,
    import: &Import<'_>,
) -> Result<(), StoreError> {
    let hash = texts::keep(connection, import.text)?;
    connection
        .execute(
            "INSERT INTO imports (task, version, by_role, is_request, stray, hash, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                task.as_str(),
                import.version,
                import.by.as_str(),
                import.with_request,
                import.stray,
                hash,
                import.at.to_string(),
            ],
        )
        .map_err(failed("write an import"))?;
    Ok(())
}
