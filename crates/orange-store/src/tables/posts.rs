//! What orange has written to the forge, by its own keys.
//!
//! A row says which comment or request a key stands for, so that it is edited instead of written
//! again. It can be lost: what was written also has a marker.

use orange_engine::names::TaskId;
use rusqlite::{OptionalExtension as _, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// Something that orange wrote to the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The forge's own id.
    pub forge_id: String,
    /// Identifies its text.
    pub digest: String,
}

impl Store {
    /// What was written for a task under a key.
    pub fn post(&self, task: &TaskId, key: &str) -> Result<Option<Post>, StoreError> {
        let sql = "SELECT forge_id, digest FROM posts WHERE task = ?1 AND key = ?2";
        let found = self.connection.query_row(sql, [task.as_str(), key], |row| {
            Ok(Post {
                forge_id: row.get(0)?,
                digest: row.get(1)?,
            })
        });
        found.optional().map_err(failed("read what was posted"))
    }

    /// Records what was written, unless that is known.
    pub fn record_post(&mut self, task: &TaskId, key: &str, post: &Post) -> Result<(), StoreError> {
        if self.post(task, key)?.as_ref() == Some(post) {
            return Ok(());
        }
        let writing = self.write("record what was posted")?;
        writing
            .transaction
            .execute(
                "INSERT OR REPLACE INTO posts (task, key, forge_id, digest)
                 VALUES (?1, ?2, ?3, ?4)",
                params![task.as_str(), key, post.forge_id, post.digest],
            )
            .map_err(failed("record what was posted"))?;
        writing.commit()?;
        Ok(())
    }
}
