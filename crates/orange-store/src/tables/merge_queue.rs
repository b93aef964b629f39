//! The order of merges.

use orange_engine::names::{ProjectName, TaskId};
use rusqlite::{OptionalExtension as _, params};

use crate::error::{StoreError, failed};
use crate::{Pending, Store};

impl Store {
    /// The task whose merge is the first in the project's queue, if it is ahead of this merge.
    pub fn merge_ahead(
        &self,
        project: &ProjectName,
        merge: &Pending,
    ) -> Result<Option<TaskId>, StoreError> {
        // The id of an effect is the version of the event that planned it.
        let sql = "SELECT pending.task FROM pending
             JOIN tasks ON tasks.id = pending.task
             JOIN events ON events.task = pending.task AND events.version = pending.effect
             WHERE tasks.project = ?1
                 AND pending.state IN ('waiting', 'started')
                 AND json_extract(pending.planned, '$.effect.action') = 'merge'
                 AND events.sequence < (
                     SELECT sequence FROM events WHERE task = ?2 AND version = ?3)
             ORDER BY events.sequence LIMIT 1";
        let values = params![project.as_str(), merge.task.as_str(), merge.planned.id.0];
        let found = self
            .connection
            .query_row(sql, values, |row| row.get::<_, String>(0))
            .optional()
            .map_err(failed("read the queue of merges"))?;
        Ok(found.map(TaskId::new))
    }
}
