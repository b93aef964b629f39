//! Makes the memory of orange anew from the task directories.

use std::fs;

use super::{Driver, DriverError};
use crate::config::ORANGE_RUN_ID;
use crate::effects::process::run_above;
use crate::store::{self, Rebuilt};

impl Driver {
    /// Restores the database, up to what was last copied into the task directories.
    ///
    /// One that is there is in the way, unless it may be moved aside; it is never deleted. What
    /// was decided after the last copy is lost, so that this is for a person to ask for.
    pub fn rebuild(&self, may_move_aside: bool) -> Result<Rebuilt, DriverError> {
        // Who calls cannot be looked up in a database that may be lost.
        let in_a_run = self.environment.variable(ORANGE_RUN_ID).is_some();
        if in_a_run || run_above().unwrap_or(None).is_some() {
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
