//! Makes the memory of orange anew from the task directories.

use std::fs;

use super::{Driver, DriverError};
use crate::store::{self, Rebuilt};

impl Driver {
    /// Restores the database, up to what was last copied into the task directories.
    ///
    /// One that is there is in the way, unless it may be moved aside; it is never deleted. What
    /// was decided after the last copy is lost, so that this is for a person to ask for.
    pub fn rebuild(&self, may_move_aside: bool) -> Result<Rebuilt, DriverError> {
        if self.is_called_by_agent() {
            return Err(DriverError::ForAPerson("rebuild the database"));
        }
        let path = self.home.database();
        let is_there = fs::metadata(&path).is_ok_and(|found| found.len() > 0);
        if is_there && !may_move_aside {
            return Err(DriverError::DatabaseThere { path });
        }
        Ok(store::rebuild(&self.home)?)
    }
}
