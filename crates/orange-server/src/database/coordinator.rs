//! Marks and releases of lost runners, by one server at a time.

use super::values::Reader;
use super::{Database, DatabaseError};

impl Database {
    /// The coordinator's mark, on any server, every few seconds. A longer gap than 15 seconds means
    /// that runners could not be heard. Answers whether this call was the coordinator.
    pub async fn mark(&self) -> Result<bool, DatabaseError> {
        let call = "mark";
        let row = &self
            .only(call, "select orange.mark_1() as marked", &[])
            .await?;
        Reader { call, row }.get("marked")
    }

    /// Release the tasks of runners whose lease has passed. Marks first, so that an outage that no
    /// one has marked yet counts against no runner. Answers how many tasks were released, or `None`
    /// when another server does this at the moment.
    pub async fn reap(&self) -> Result<Option<u64>, DatabaseError> {
        let call = "reap";
        let row = &self
            .only(call, "select orange.reap_1() as released", &[])
            .await?;
        let released: Option<i64> = Reader { call, row }.get("released")?;
        Ok(released.map(super::values::unsigned))
    }
}
