//! What trouble of the store means for who asks.

use std::time::Duration;

use orange_store::{Store, StoreError};

use crate::{Driver, DriverError};

/// How long a commit of somebody else may take before that is worth telling.
const USUAL: Duration = Duration::from_millis(500);

/// What kind of trouble the store has; who asks does not know the store itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreProblem {
    /// There is no such task.
    TaskUnknown,
    /// Another task has the branch.
    BranchTaken,
    /// Somebody else writes; asking again helps.
    Busy,
    /// Nothing was ever remembered.
    Empty,
    /// A person has to do something about it first.
    Unusable,
    /// Something that should not happen did.
    Failed,
}

impl DriverError {
    /// What kind of trouble the store has.
    pub fn store_problem(&self) -> StoreProblem {
        let DriverError::Store(error) = self else {
            return StoreProblem::Failed;
        };
        match error {
            StoreError::UnknownTask { .. } => StoreProblem::TaskUnknown,
            StoreError::BranchTaken { .. } => StoreProblem::BranchTaken,
            StoreError::Busy { .. } | StoreError::Replaced { .. } => StoreProblem::Busy,
            StoreError::Missing { .. } => StoreProblem::Empty,
            StoreError::Lost { .. }
            | StoreError::Newer { .. }
            | StoreError::Older { .. }
            | StoreError::NotOurs { .. }
            | StoreError::UnsafeFileSystem { .. }
            | StoreError::BadName { .. }
            | StoreError::Occupied { .. }
            | StoreError::HistoryAhead { .. }
            | StoreError::HistoryDiffers { .. }
            | StoreError::Unsettled { .. } => StoreProblem::Unusable,
            error if error.is_damage() => StoreProblem::Unusable,
            _ => StoreProblem::Failed,
        }
    }
}

impl Driver {
    /// Whether another process keeps writing to the database, so that recording has to wait for it.
    /// Where nobody can tell, recording will.
    pub fn is_kept_from_recording(&self) -> bool {
        let has_memory = self.home.database().exists();
        let store = has_memory.then(|| Store::open(&self.home));
        let store = store.and_then(Result::ok);
        store.is_some_and(|mut store| store.is_kept_out(USUAL).unwrap_or(false))
    }
}
