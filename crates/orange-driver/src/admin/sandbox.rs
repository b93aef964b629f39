//! Turns the sandbox off, which only the user may do.

use std::path::PathBuf;

use orange_config::{Settings, reason};

use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// Writes it into the settings; returns their path.
    pub fn turn_sandbox_off(&self) -> Result<PathBuf, DriverError> {
        self.callers.require_user("turn off the sandbox")?;
        let home = &self.context.home;
        Settings::turn_sandbox_off(home).map_err(|error| DriverError::File {
            attempt: "write",
            path: home.settings(),
            reason: reason(&error),
        })
    }
}
