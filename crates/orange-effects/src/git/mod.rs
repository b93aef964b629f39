//! Git that never destroys: workspaces, facts, rescue, restore, release, merge.
//!
//! Three rules hold everywhere. A directory is acted on only after git and our own marker agree
//! that it is our worktree of that repository. A file leaves its place only by being moved aside,
//! and what was moved is deleted only when its hash is one that a commit holds. A branch is created
//! when it is missing; only a merge moves one, forward, and only the default branch; and one is
//! deleted only when the default branch contains it.

mod error;
mod merge;
mod pool;
mod repository;
mod rescue;
mod worktree;

pub use error::GitError;
pub use merge::delete_branch::Deletion;
pub use merge::diff::{AskDiff, Difference, FileDifference, Part};
pub use merge::extent::Extent;
pub use merge::push::Pushed;
pub use merge::refusal::{MergeObstacle, MergeRefusal};
pub use merge::{MergeBranch, Merging};
pub use pool::acquire::{Acquire, Acquired, Acquisition};
pub use pool::acquire_refusal::AcquireRefusal;
pub use pool::marker::{Marker, Phase};
pub use pool::release::{Obstacle, Release, Released};
pub use pool::{Slot, SlotRefusal};
pub use repository::base::{Base, Freshness};
pub use repository::name::{require_branch, usual_branch};
pub use repository::remote::{RemoteAddress, without_password};
pub use rescue::rescued::{About, Rescued};
pub use rescue::restore::{RestoreRefusal, Restored};
pub use worktree::facts::{AskFacts, Condition};
pub use worktree::ignored::Ignored;
pub use worktree::include::Included;
pub use worktree::operation::Operation;
pub use worktree::status::Head;
pub use worktree::{Listed, Worktree};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::git::repository::caller::{Caller, Timeouts};
use crate::git::repository::own::OwnDirectory;
use crate::git::repository::remote::Registered;
use crate::git::repository::settings::Settings;
use orange_config::Environment;

/// A repository.
///
/// Git is called with a directory of our own in the place of the one that worktrees share, so that
/// it reads none of the files there that agents can write; see `own.rs`. Open it anew for each
/// effect: what is known of the configuration is what it was then.
#[derive(Clone, Debug)]
pub struct Git {
    caller: Caller,
    directory: PathBuf,
    own: Arc<OwnDirectory>,
    settings: Settings,
    registered: Option<Registered>,
}

impl Git {
    /// The repository that a directory belongs to; `program` is a path or a name on the `PATH`.
    pub fn open(
        program: impl Into<OsString>,
        directory: &Path,
        environment: &Environment,
    ) -> Result<Self, GitError> {
        let caller = Caller::new(program.into(), environment);
        let directory = match repository::discover::git_directory(directory) {
            Some(found) => found,
            None => caller.ask_for_directory(directory)?,
        };
        Self::open_at(caller, directory)
    }

    /// The repository with this directory of git's.
    fn open_at(caller: Caller, directory: PathBuf) -> Result<Self, GitError> {
        let settings = Settings::read(&directory.join("config"))?;
        let own = OwnDirectory::make(&caller.folders, &directory, &settings.format())?;
        own.take_excludes(&directory)?;
        let mut git = Self {
            caller,
            directory,
            own: Arc::new(own),
            settings,
            registered: None,
        };
        git.caller.told = git.settings.carried();
        // A clone that lacks objects asks for them while it is looked at.
        if let Some(remote) = git.settings.remote().filter(|it| it.promised.is_some()) {
            git.caller.told.extend(remote.settings());
        }
        git.switch_off_merge_drivers()?;
        Ok(git)
    }

    /// Where the repository names a merge driver that the user does not have, both sides' changes
    /// conflict: merging such a file as text is not what its attributes ask for.
    fn switch_off_merge_drivers(&mut self) -> Result<(), GitError> {
        let named = self.settings.names("merge", &[".driver"]);
        if named.is_empty() {
            return Ok(());
        }
        let users = self.users_names("merge")?;
        let off = named.difference(&users);
        let off = off.map(|name| (format!("merge.{name}.driver"), String::from("false")));
        self.caller.told.extend(off);
        Ok(())
    }

    /// With these bounds: for local calls, for the network, for a lock that somebody holds.
    #[must_use]
    pub fn patience(mut self, local: Duration, network: Duration, lock: Duration) -> Self {
        self.caller.timeouts = Timeouts {
            look: local,
            work: local,
            network,
            lock,
        };
        self
    }

    /// How many digits an id has.
    fn id_digits(&self) -> usize {
        self.settings.id_digits()
    }

    /// The id that stands for nothing.
    fn no_id(&self) -> String {
        "0".repeat(self.id_digits())
    }

    /// The directory that all worktrees of the repository share.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
