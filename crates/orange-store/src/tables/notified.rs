//! Of what a person was notified.

use orange_engine::time::Timestamp;
use rusqlite::params;

use crate::Store;
use crate::error::{StoreError, failed};

impl Store {
    /// Whether a person was notified of something, or somebody has taken that upon himself.
    pub fn is_notified(&self, item: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM notified WHERE item = ?1)";
        let found = self.connection.query_row(sql, [item], |row| row.get(0));
        found.map_err(failed("read of what a person was notified"))
    }

    /// Takes it upon the caller to notify a person of something; whether nobody did before.
    ///
    /// Taken before it is done: who is killed in between has told nobody, and nobody is told twice.
    pub fn take_notification(&mut self, item: &str, now: Timestamp) -> Result<bool, StoreError> {
        let writing = self.write("note that a person is notified")?;
        let new = writing
            .transaction
            .execute(
                "INSERT INTO notified (item, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![item, now.to_string()],
            )
            .map_err(failed("note that a person is notified"))?;
        writing.commit()?;
        Ok(new == 1)
    }
}
