//! When each repository was last looked at.
//!
//! The times are in a file, because a look that shows nothing new must not write to the store. If
//! the file is lost, only a line of `orange forge status` is lost with it.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_effects::forge::host::RepositoryAddress;
use orange_effects::private_file;
use orange_engine::time::Timestamp;

use crate::forge::Forge;

/// The most bytes that are read from the file.
const MAX_BYTES: u64 = 1024 * 1024;

impl Forge {
    /// Notes that the forge has just answered about pull requests of a repository.
    pub(crate) fn note_look(&self, address: &RepositoryAddress) {
        let mut looks = self.looks();
        looks.insert(address.to_string(), clock::now());
        if let Ok(text) = serde_json::to_vec(&looks) {
            // If the file cannot be written, `orange forge status` shows an older time.
            let _unseen = private_file::write_unsynced(&self.context.home.forge_looks(), &text);
        }
    }

    /// When the forge last answered about pull requests of a repository.
    pub(crate) fn last_look(&self, address: &RepositoryAddress) -> Option<Timestamp> {
        self.looks().remove(&address.to_string())
    }

    fn looks(&self) -> BTreeMap<String, Timestamp> {
        let bytes = private_file::read(&self.context.home.forge_looks(), MAX_BYTES);
        let looks = bytes.ok().and_then(|it| serde_json::from_slice(&it).ok());
        looks.unwrap_or_default()
    }
}
