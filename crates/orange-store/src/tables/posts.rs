//! What orange has posted about tasks on their issues.
//!
//! A row describes the outside world: a rebuild drops it, and the next post reads the forge first.
//! A row is not part of the task, so writing one does not count as a change of the task.

use std::collections::BTreeMap;

use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use rusqlite::{Row, params};

use crate::Store;
use crate::error::{StoreError, failed};
use crate::steps::reach;

/// What is known about one thing that orange posts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostRecord {
    /// The forge's id of the comment.
    pub forge_id: Option<u64>,
    /// Identifies what is posted, once the forge has confirmed it.
    pub digest: Option<String>,
    /// The version of the task that the post is about.
    pub version: Option<u64>,
    /// When something was sent whose outcome is not recorded; the caller must read the forge before
    /// it sends again.
    pub sent_at: Option<Timestamp>,
    /// How often it failed in a row.
    pub attempts: u32,
    pub next_attempt_at: Option<Timestamp>,
    /// Identifies what the forge has refused.
    pub refused: Option<String>,
    /// Why it failed last.
    pub problem: Option<String>,
    /// Whether the user was told about the refusal.
    pub is_reported: bool,
}

impl Store {
    /// What was posted about a task, by key.
    pub fn posts(&self, task: &TaskId) -> Result<BTreeMap<String, PostRecord>, StoreError> {
        let attempt = || failed("read what was posted");
        let sql = "SELECT key, forge_id, digest, version, sent_at, attempts, next_attempt_at,
                       refused, problem, is_reported
                   FROM posts WHERE task = ?1";
        let mut statement = self.connection.prepare(sql).map_err(attempt())?;
        let found = statement
            .query_map([task.as_str()], read)
            .map_err(attempt())?;
        let found: Result<BTreeMap<_, _>, _> = found.collect();
        found.map_err(attempt())
    }

    /// Records what is known about a post; an empty record is removed.
    pub fn record_post(
        &mut self,
        task: &TaskId,
        key: &str,
        record: &PostRecord,
    ) -> Result<(), StoreError> {
        let attempt = || failed("record a post");
        let writing = self.write("record a post")?;
        if *record == PostRecord::default() {
            let sql = "DELETE FROM posts WHERE task = ?1 AND key = ?2";
            let removed = writing
                .transaction
                .execute(sql, params![task.as_str(), key]);
            removed.map_err(attempt())?;
        } else {
            writing
                .transaction
                .execute(
                    "INSERT OR REPLACE INTO posts (task, key, forge_id, digest, version, sent_at,
                         attempts, next_attempt_at, refused, problem, is_reported)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                    params![
                        task.as_str(),
                        key,
                        record.forge_id,
                        record.digest,
                        record.version,
                        record.sent_at.map(|it| it.to_string()),
                        record.attempts,
                        record.next_attempt_at.map(|it| it.to_string()),
                        record.refused,
                        record.problem,
                        record.is_reported
                    ],
                )
                .map_err(attempt())?;
        }
        reach("before a post is recorded");
        writing.commit()?;
        reach("after a post is recorded");
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<(String, PostRecord)> {
    let instant = |at: Option<String>| at.map(|it| Timestamp::parse(&it).unwrap_or_default());
    let record = PostRecord {
        forge_id: row.get(1)?,
        digest: row.get(2)?,
        version: row.get(3)?,
        sent_at: instant(row.get(4)?),
        attempts: row.get(5)?,
        next_attempt_at: instant(row.get(6)?),
        refused: row.get(7)?,
        problem: row.get(8)?,
        is_reported: row.get(9)?,
    };
    Ok((row.get(0)?, record))
}
