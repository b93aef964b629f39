//! Which notifications the user has received.

use orange_engine::time::Timestamp;
use rusqlite::params;

use crate::Store;
use crate::error::{StoreError, failed};

impl Store {
    /// Whether the user was notified of something, or a process has claimed that notification.
    pub fn is_notified(&self, item: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM notified WHERE item = ?1)";
        let found = self.connection.query_row(sql, [item], |row| row.get(0));
        found.map_err(failed("read notifications"))
    }

    /// Claims a notification for the caller; returns whether it was unclaimed.
    ///
    /// It is claimed before it is sent: a process that is killed in between sends nothing, and no
    /// notification is sent twice.
    pub fn claim_notification(&mut self, item: &str, now: Timestamp) -> Result<bool, StoreError> {
        let writing = self.write("record a notification")?;
        let new = writing
            .transaction
            .execute(
                "INSERT INTO notified (item, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![item, now.to_string()],
            )
            .map_err(failed("record a notification"))?;
        writing.commit()?;
        Ok(new == 1)
    }
}
