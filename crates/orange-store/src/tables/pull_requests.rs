//! What the forge last said about the pull requests of tasks.
//!
//! A row describes the outside world: a rebuild drops it, and it is written again when orange next
//! reads the forge. If orange reads nothing new, it writes nothing.

use orange_engine::names::{CommitId, TaskId};
use orange_engine::time::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// What is known about the pull request of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestRecord {
    /// The forge's own id.
    pub id: String,
    pub number: u64,
    /// The commit that the facts are about.
    pub head: CommitId,
    /// The facts, as JSON.
    pub facts: String,
    /// When the forge first stated these facts.
    pub as_of: Timestamp,
}

impl PullRequestRecord {
    /// Whether another record has the same content, apart from `as_of`.
    fn says_the_same(&self, other: &PullRequestRecord) -> bool {
        let as_of = other.as_of;
        let own = self.clone();
        PullRequestRecord { as_of, ..own } == *other
    }
}

const COLUMNS: &str = "task, id, number, head, facts, as_of";

impl Store {
    /// What was last read about the pull request of a task.
    pub fn pull_request(&self, task: &TaskId) -> Result<Option<PullRequestRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM pull_requests WHERE task = ?1");
        let found = self.connection.query_row(&sql, [task.as_str()], read);
        let found = found.optional().map_err(failed("read a pull request"))?;
        Ok(found.map(|(_, record)| record))
    }

    /// What was last read about every pull request, by task.
    pub fn pull_requests(&self) -> Result<Vec<(TaskId, PullRequestRecord)>, StoreError> {
        let attempt = || failed("read pull requests");
        let sql = format!("SELECT {COLUMNS} FROM pull_requests ORDER BY task");
        let mut statement = self.connection.prepare(&sql).map_err(attempt())?;
        let found = statement.query_map([], read).map_err(attempt())?;
        let found: Result<Vec<_>, _> = found.collect();
        found.map_err(attempt())
    }

    /// Records what was read; returns whether it was new. If it is the same as before, nothing is
    /// written; otherwise the task counts as changed, so that watchers read it again.
    pub fn record_pull_request(
        &mut self,
        task: &TaskId,
        record: &PullRequestRecord,
    ) -> Result<bool, StoreError> {
        let attempt = || failed("record a pull request");
        let known = self.pull_request(task)?;
        if known.is_some_and(|known| known.says_the_same(record)) {
            return Ok(false);
        }
        let writing = self.write("record a pull request")?;
        writing
            .transaction
            .execute(
                "INSERT OR REPLACE INTO pull_requests (task, id, number, head, facts, as_of)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    task.as_str(),
                    record.id,
                    record.number,
                    record.head.as_str(),
                    record.facts,
                    record.as_of.to_string()
                ],
            )
            .map_err(attempt())?;
        writing
            .transaction
            .execute(
                "UPDATE tasks SET sequence = ?1 WHERE id = ?2",
                params![writing.sequence, task.as_str()],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(true)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<(TaskId, PullRequestRecord)> {
    let as_of: String = row.get(5)?;
    let record = PullRequestRecord {
        id: row.get(1)?,
        number: row.get(2)?,
        head: CommitId::new(row.get::<_, String>(3)?),
        facts: row.get(4)?,
        as_of: Timestamp::parse(&as_of).unwrap_or_default(),
    };
    Ok((TaskId::new(row.get::<_, String>(0)?), record))
}
