//! One writer at a time; each commit gets the next global number.

use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Store;
use super::error::{StoreError, failed};
use super::open::{BUSY_TIMEOUT, identity, is_busy, truncate_log};

/// A transaction that holds the write lock; dropping it rolls it back.
pub(super) struct WriteTransaction<'store> {
    pub(super) transaction: Transaction<'store>,
    /// The number of this commit.
    pub(super) sequence: u64,
    /// Whether the home belongs to a fleet.
    pub(super) is_joined: bool,
    connection: &'store Connection,
    attempt: &'static str,
}

impl Store {
    /// The number of the last commit that a reader sees.
    pub fn sequence(&self) -> Result<u64, StoreError> {
        self.connection
            .query_row("SELECT last FROM sequence", [], |row| row.get(0))
            .map_err(failed("read the sequence number"))
    }

    /// Whether another process holds the write lock for longer than this; writes nothing.
    pub fn is_locked_by_another(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let attempt = "check for another writer";
        self.connection
            .busy_timeout(timeout)
            .map_err(failed(attempt))?;
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior);
        // Roll the transaction back immediately.
        let transaction = transaction.map(drop);
        self.connection
            .busy_timeout(BUSY_TIMEOUT)
            .map_err(failed(attempt))?;
        match transaction {
            Err(error) if is_busy(&error) => Ok(true),
            transaction => transaction.map(|()| false).map_err(failed(attempt)),
        }
    }

    /// Begins a write that must survive a power loss.
    pub(super) fn write(
        &mut self,
        attempt: &'static str,
    ) -> Result<WriteTransaction<'_>, StoreError> {
        self.begin("FULL", attempt)
    }

    /// Begins a write that a power loss may undo. It is for facts that a power loss makes obsolete
    /// anyway; the next durable write makes them durable too.
    pub(super) fn write_lazily(
        &mut self,
        attempt: &'static str,
    ) -> Result<WriteTransaction<'_>, StoreError> {
        self.begin("NORMAL", attempt)
    }

    fn begin(
        &mut self,
        synchronous: &str,
        attempt: &'static str,
    ) -> Result<WriteTransaction<'_>, StoreError> {
        self.connection
            .pragma_update(None, "synchronous", synchronous)
            .map_err(failed(attempt))?;
        let path = self.path();
        let opened_identity = self.identity();
        // Only the compile-time check against nested transactions is skipped; the store stays
        // borrowed as long as the transaction lives, so there can be no nested one.
        let result = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let transaction = match result {
            Err(error) if is_busy(&error) => return Err(StoreError::Busy { attempt, path }),
            result => result.map_err(failed(attempt))?,
        };
        // A rebuild holds the lock of the old file while it renames the new one into place, so from
        // here on the result of this check cannot change.
        if !identity(&path).is_ok_and(|now| now == opened_identity) {
            return Err(StoreError::Replaced { attempt, path });
        }
        self.require_known_schema()?;
        let (sequence, is_joined) = transaction
            .query_row(
                "UPDATE sequence SET last = last + 1 RETURNING last, is_joined",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(failed(attempt))?;
        self.was_joined.set(is_joined);
        Ok(WriteTransaction {
            transaction,
            sequence,
            is_joined,
            connection: &self.connection,
            attempt,
        })
    }
}

impl WriteTransaction<'_> {
    /// Commits, with the durability that was chosen at the beginning.
    pub(super) fn commit(self) -> Result<u64, StoreError> {
        crate::steps::reach("before a commit");
        self.transaction.commit().map_err(failed(self.attempt))?;
        crate::steps::reach("after a commit");
        truncate_log(self.connection);
        Ok(self.sequence)
    }
}
