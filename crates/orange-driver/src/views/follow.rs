//! Tells what a list of tasks has to change, as commits come.

use std::sync::Arc;
use std::time::Duration;

use orange_engine::names::TaskId;
use orange_store::{Kinds, Store, StoreError, TaskRow};

use crate::DriverError;
use crate::context::Context;
use crate::views::Views;

/// How long somebody who keeps everybody out of the database is waited for before that is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a list has to change to be as of a later commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChange {
    /// The last commit that is seen in it.
    pub sequence: u64,
    /// Whether everything else goes: another database has taken the place of the one before.
    pub is_whole: bool,
    /// The tasks that are new or different.
    pub rows: Vec<TaskRow>,
    /// The tasks that are not listed any more.
    pub gone: Vec<TaskId>,
}

/// Follows the tasks of a home. Asking when nothing was written costs next to nothing.
#[derive(Debug)]
pub struct Follower {
    context: Arc<Context>,
    store: Option<Store>,
    kinds: Kinds,
    data_version: Option<i64>,
    sequence: u64,
}

impl Views {
    /// Begins to follow: everything counts as changed. Nothing is created.
    pub fn follower(&self) -> Follower {
        Follower {
            context: Arc::clone(&self.context),
            store: None,
            kinds: Kinds::default(),
            data_version: None,
            sequence: 0,
        }
    }
}

impl Follower {
    /// What has changed since the last call, if anything was written; a home without a memory has
    /// nothing.
    pub fn change(&mut self) -> Result<Option<ListChange>, DriverError> {
        if self.store.as_ref().is_some_and(Store::is_replaced) {
            self.store = None;
        }
        let is_whole = self.store.is_none();
        if is_whole {
            match Store::open_read_only_within(&self.context.home, PATIENCE) {
                Ok(store) => self.store = Some(store),
                Err(StoreError::Missing { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            (self.data_version, self.sequence) = (None, 0);
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        // Asked before reading: what is written in between is seen twice rather than never.
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
            gone: changed.gone,
        }))
    }
}
