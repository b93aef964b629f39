//! What is known about the sandbox of a run after its start.

use std::path::{Path, PathBuf};

use orange_effects::private_file::{self, PrivateFileError};
use orange_effects::sandbox::{Description, Level};
use serde::{Deserialize, Serialize};

/// The largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The sandbox of a run, in `sandbox.json` of its directory; a run without one has no such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunSandbox {
    pub level: Level,
    /// Why the agent shares the user's repository, if it has no private one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_repository: Option<String>,
    /// What the agent sees.
    pub description: Description,
}

impl RunSandbox {
    pub fn load(run_directory: &Path) -> Option<Self> {
        let bytes = private_file::read(&file(run_directory), MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn save(&self, run_directory: &Path) -> Result<(), PrivateFileError> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        private_file::write_unsynced(&file(run_directory), &json)
    }

    /// Where a file of the agent's home is outside; `None` for a file elsewhere.
    pub fn outside(&self, path: &Path) -> Option<PathBuf> {
        let user_home = Path::new(self.description.user_home.as_os_str());
        let below = path.strip_prefix(user_home).ok()?;
        Some(self.private_home()?.join(below))
    }

    /// Where the agent's home is outside.
    pub fn private_home(&self) -> Option<&Path> {
        let home = self.description.private_home.as_ref()?;
        Some(Path::new(home.as_os_str()))
    }
}

fn file(run_directory: &Path) -> PathBuf {
    run_directory.join("sandbox.json")
}
