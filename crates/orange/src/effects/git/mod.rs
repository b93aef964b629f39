//! Git that never destroys: workspaces, facts, rescue, restore, release, merge.
//!
//! Three rules hold everywhere. A directory is acted on only after git and our own marker agree
//! that it is our worktree of that repository. A file leaves its place only by being moved aside,
//! and what was moved is deleted only when its hash is one that a commit holds. A branch is created
//! when it is missing; only a merge moves one, forward, and only the default branch; and one is
//! deleted only when the default branch contains it.

mod acquire;
mod acquire_refusal;
mod base;
mod call;
mod delete;
mod diff;
mod discover;
mod disk;
mod entry;
mod error;
mod exclude;
mod extent;
mod facts;
mod forward;
mod given;
mod held;
mod ignored;
mod include;
mod index;
mod inner;
mod interrupted;
mod lock;
mod look;
mod marker;
mod merge;
mod merge_refusal;
mod merge_result;
mod name;
mod operation;
mod place;
mod planted;
mod pool;
mod push;
mod refs;
mod release;
mod rescue;
mod rescued;
mod restore;
mod returned;
mod saved;
mod settle;
mod state;
mod worktree;

pub use acquire::{Acquire, Acquired, Acquisition};
pub use acquire_refusal::AcquireRefusal;
pub use base::{Base, Freshness};
pub use delete::Deletion;
pub use diff::{AskDiff, Difference, FileDifference};
pub use error::GitError;
pub use extent::Extent;
pub use facts::{AskFacts, Condition};
pub use ignored::Ignored;
pub use include::Included;
pub use look::Head;
pub use marker::{Marker, Phase};
pub use merge::{MergeBranch, Merging};
pub use merge_refusal::{MergeObstacle, MergeRefusal};
pub use name::{require_branch, usual_branch};
pub use operation::Operation;
pub use pool::{Slot, SlotRefusal};
pub use push::Pushed;
pub use release::{Obstacle, Release, Released};
pub use rescued::{About, Rescued};
pub use restore::{RestoreRefusal, Restored};
pub use worktree::{Listed, Worktree};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Environment;

/// How long git may take for anything that stays on this machine.
const LOCAL_TIMEOUT: Duration = Duration::from_mins(10);

/// How long git may take for anything that uses the network.
const NETWORK_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a lock on the index is waited for before it is looked at closely.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// A repository.
///
/// It reads the repository's configuration when it is opened, and switches off every program that
/// is named there; open it anew for each effect, because agents can write that configuration.
#[derive(Clone, Debug)]
pub struct Git {
    program: OsString,
    environment: BTreeMap<OsString, OsString>,
    directory: PathBuf,
    settings: Vec<(String, String)>,
    has_worktree_settings: bool,
    /// Whether refs and worktrees can be read from its files.
    has_plain_files: bool,
    remote: Option<String>,
    initial_branch: Option<String>,
    /// How many digits an id has; it depends on the repository's hash.
    id_digits: usize,
    local_timeout: Duration,
    network_timeout: Duration,
    lock_patience: Duration,
}

impl Git {
    /// The repository that a directory belongs to; `program` is a path or a name on the `PATH`.
    pub fn open(
        program: impl Into<OsString>,
        directory: &Path,
        environment: &Environment,
    ) -> Result<Self, GitError> {
        let mut git = Self {
            program: program.into(),
            environment: environment.passed([]),
            directory: directory.to_owned(),
            settings: Vec::new(),
            has_worktree_settings: false,
            has_plain_files: false,
            remote: None,
            initial_branch: None,
            id_digits: 40,
            local_timeout: LOCAL_TIMEOUT,
            network_timeout: NETWORK_TIMEOUT,
            lock_patience: LOCK_PATIENCE,
        };
        git.directory = match discover::git_directory(directory) {
            Some(found) => found,
            None => git.ask_for_directory(directory)?,
        };
        git.learn_settings()?;
        Ok(git)
    }

    /// With these bounds: for local calls, for the network, for a lock that somebody holds.
    #[must_use]
    pub fn patience(mut self, local: Duration, network: Duration, lock: Duration) -> Self {
        self.local_timeout = local;
        self.network_timeout = network;
        self.lock_patience = lock;
        self
    }

    /// The id that stands for nothing.
    fn no_id(&self) -> String {
        "0".repeat(self.id_digits)
    }

    /// The directory that all worktrees of the repository share.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
