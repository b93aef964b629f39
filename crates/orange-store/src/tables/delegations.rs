//! Which child was created for which request of a report.
//!
//! The key is written in the transaction that creates the child: however often a creation is
//! repeated, and by whatever processes, a request has one child.

use std::collections::BTreeMap;

use orange_engine::Task;
use orange_engine::effect::EffectId;
use orange_engine::names::TaskId;
use rusqlite::{Connection, params};

use crate::Store;
use crate::error::{StoreError, failed};

impl Store {
    /// The children that one attempt of a task has so far, by the positions of their requests.
    pub fn delegated_children(
        &self,
        parent: &TaskId,
        attempt: EffectId,
    ) -> Result<BTreeMap<usize, TaskId>, StoreError> {
        let reading = || {
            let sql = "SELECT position, task FROM delegations WHERE parent = ?1 AND attempt = ?2";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map(params![parent.as_str(), number(attempt.0)], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<(i64, String)>>>()
        };
        let rows = reading().map_err(failed("read the children of a report"))?;
        let children = rows.into_iter().filter_map(|(position, task)| {
            let position = usize::try_from(position).ok()?;
            Some((position, TaskId::new(task)))
        });
        Ok(children.collect())
    }
}

/// Writes the key of a new task, if it is for a request. Returns false if the request has a child.
pub(crate) fn insert(connection: &Connection, task: &Task) -> Result<bool, StoreError> {
    let (Some(parent), Some(link)) = (&task.queueing.parent, &task.queueing.delegation) else {
        return Ok(true);
    };
    let written = connection
        .execute(
            "INSERT OR IGNORE INTO delegations (parent, attempt, position, task)
             VALUES (?1, ?2, ?3, ?4)",
            params![
                parent.as_str(),
                number(link.attempt.0),
                number(link.index),
                task.id.as_str(),
            ],
        )
        .map_err(failed("record the request of a child"))?;
    Ok(written == 1)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
