//! What trouble of the store means for who asks.

use orange_store::StoreError;

use crate::DriverError;

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
