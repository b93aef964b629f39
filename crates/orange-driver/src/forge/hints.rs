//! Hints of webhooks that something has changed on the forge.
//!
//! A hint makes the next look come sooner; what has changed is read from the forge as always. The
//! time of a file is the hint, so that processes need not agree. A hint that is lost costs nothing
//! but time.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use orange_effects::forge::host::{RepositoryAddress, read_remote};
use orange_effects::private_file;

use crate::DriverError;
use crate::context::ids;
use crate::forge::Forge;

impl Forge {
    /// Notes that something may have changed in the repository with this URL. Returns false if it
    /// belongs to no project, so that the number of files is limited by the projects.
    pub fn note_hint(&self, url: &str) -> Result<bool, DriverError> {
        let Ok(named) = read_remote(url) else {
            return Ok(false);
        };
        for project in &self.context.all_projects()? {
            // The settings of another project may be broken.
            let Ok(Some(address)) = self.repository(project) else {
                continue;
            };
            if is_same(&address, &named) {
                let path = self.hint_file(&address);
                let written = private_file::write_unsynced(&path, address.to_string().as_bytes());
                written.map_err(|error| DriverError::File {
                    attempt: "write",
                    path,
                    reason: error.to_string(),
                })?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The time of the last hint about a repository.
    pub(crate) fn last_hint(&self, address: &RepositoryAddress) -> Option<SystemTime> {
        fs::metadata(self.hint_file(address)).ok()?.modified().ok()
    }

    fn hint_file(&self, address: &RepositoryAddress) -> PathBuf {
        let name = ids::hash(&address.to_string());
        self.context.home.forge_hints().join(name)
    }
}

/// The forge does not tell large from small letters.
fn is_same(one: &RepositoryAddress, other: &RepositoryAddress) -> bool {
    one.to_string().eq_ignore_ascii_case(&other.to_string())
}
