//! The log of orange: what nobody was there to be told.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use orange_engine::names::TaskId;

use super::{Driver, DriverError};
use crate::clock;
use crate::config::reason;

impl Driver {
    /// Adds a line about a task to `orange.log` in the home.
    pub fn log(&self, task: &TaskId, message: &str) -> Result<(), DriverError> {
        let path = self.home.log();
        let line = message.replace(char::is_control, " ");
        let line = format!("{} {task} {line}\n", clock::now());
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut log| log.write_all(line.as_bytes()));
        written.map_err(|error| DriverError::File {
            attempt: "write",
            path,
            reason: reason(&error),
        })
    }
}
