//! Reports changes to a list of tasks, commit by commit.

use std::sync::Arc;
use std::time::Duration;

use orange_engine::names::TaskId;
use orange_store::{StatusKinds, Store, StoreError, TaskRow};

use crate::DriverError;
use crate::context::Context;
use crate::views::Views;

/// How long to wait for a process that blocks the database before reporting an error.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The changes that bring a list up to a later commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChange {
    /// The last commit that it includes.
    pub sequence: u64,
    /// Whether this replaces the whole list, because it is the first change or another database has
    /// taken the place of the earlier one.
    pub is_whole: bool,
    /// The tasks that are new or changed.
    pub rows: Vec<TaskRow>,
    /// The tasks that are no longer listed.
    pub gone: Vec<TaskId>,
}

/// Follows the tasks of a home. A call costs next to nothing when nothing was written.
#[derive(Debug)]
pub struct Follower {
    context: Arc<Context>,
    store: Option<Store>,
    kinds: StatusKinds,
    data_version: Option<i64>,
    sequence: u64,
}

impl Views {
    /// Starts to follow: the first call of `change` reports every task. Creates no database.
    pub fn follower(&self) -> Follower {
        Follower {
            context: Arc::clone(&self.context),
            store: None,
            kinds: StatusKinds::default(),
            data_version: None,
            sequence: 0,
        }
    }
}

impl Follower {
    /// The changes since the last call, if anything was written; `None` for a home without a
    /// database.
    pub fn change(&mut self) -> Result<Option<ListChange>, DriverError> {
        if self.store.as_ref().is_some_and(Store::is_replaced) {
            self.store = None;
        }
        let is_whole = self.store.is_none();
        if is_whole {
            match Store::open_read_only_within(&self.context.home, DATABASE_TIMEOUT) {
                Ok(store) => self.store = Some(store),
                Err(StoreError::Missing { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            (self.data_version, self.sequence) = (None, 0);
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        // Read the version before the data: a concurrent write is then seen twice rather than
        // never.
        let version = store.data_version()?;
        if self.data_version == Some(version) {
            return Ok(None);
        }
        let changed = store.rows_since(self.sequence, &mut self.kinds)?;
        self.data_version = Some(version);
        if changed.sequence == self.sequence && !is_whole {
            return Ok(None);
        }
        self.sequence = changed.sequence;
        Ok(Some(ListChange {
            sequence: changed.sequence,
            is_whole,
            rows: changed.rows,
            gone: changed.removed,
        }))
    }
}
