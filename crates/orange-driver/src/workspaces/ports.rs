//! Each workspace's port offset, unique within a home.
//!
//! Each number is a symlink in the pool's folder, from `.ports/<number>` to the workspace's name.
//! Creating a symlink is atomic and never replaces another, so no two workspaces get the same
//! number. The numbers survive the loss of the database.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::PathBuf;

use orange_config::reason;
use orange_engine::names::WorkspaceName;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The distance between the ports of two workspaces.
const PORT_STEP: u32 = 100;

impl Workspaces {
    /// A workspace's port offset, if it has a number yet; the user's own checkout has none.
    pub(crate) fn port_offset(&self, name: &WorkspaceName) -> Result<Option<u32>, DriverError> {
        let numbers = self.port_numbers()?;
        let own = numbers.iter().filter(|(_, holder)| holder == name.as_str());
        let own = own.map(|(number, _)| *number).min();
        Ok(own.map(|number| number.saturating_mul(PORT_STEP)))
    }

    /// Like `port_offset`, but assigns a unique number if the workspace has none.
    pub(crate) fn require_port_offset(&self, name: &WorkspaceName) -> Result<u32, DriverError> {
        let folder = self.ports();
        let mut folders = DirBuilder::new();
        let made = folders.recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| self.ports_failed(&error))?;
        loop {
            if let Some(offset) = self.port_offset(name)? {
                return Ok(offset);
            }
            let taken = self.port_numbers()?;
            let is_free = |number: &u32| taken.iter().all(|(it, _)| it != number);
            let number = (1..=u32::MAX).find(is_free).unwrap_or(u32::MAX);
            match symlink(name.as_str(), folder.join(number.to_string())) {
                Ok(()) => {}
                // Another process was faster; try the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.ports_failed(&error)),
            }
        }
    }

    /// Makes the number of a removed workspace available again.
    pub(crate) fn free_port_offset(&self, name: &WorkspaceName) -> Result<(), DriverError> {
        for (number, holder) in self.port_numbers()? {
            if holder == name.as_str() {
                let removed = fs::remove_file(self.ports().join(number.to_string()));
                removed.map_err(|error| self.ports_failed(&error))?;
            }
        }
        Ok(())
    }

    fn port_numbers(&self) -> Result<Vec<(u32, String)>, DriverError> {
        let entries = match fs::read_dir(self.ports()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.ports_failed(&error))?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.ports_failed(&error))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            // A foreign entry belongs to no workspace, but its number is not assigned either.
            if let Some(number) = number {
                let holder = fs::read_link(entry.path()).unwrap_or_default();
                numbers.push((number, holder.to_string_lossy().into_owned()));
            }
        }
        Ok(numbers)
    }

    fn ports(&self) -> PathBuf {
        self.context.home.workspaces().join(".ports")
    }

    fn ports_failed(&self, error: &io::Error) -> DriverError {
        DriverError::File {
            attempt: "store the numbers of workspaces in",
            path: self.ports(),
            reason: reason(error),
        }
    }
}
