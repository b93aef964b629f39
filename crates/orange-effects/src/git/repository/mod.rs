//! A repository: how it is found and called, refs, remote.

pub(crate) mod base;
pub(crate) mod call;
pub(crate) mod caller;
pub(crate) mod discover;
pub(crate) mod exclude;
pub(crate) mod name;
pub(crate) mod own_directory;
mod pull_request;
pub(crate) mod refs;
pub(crate) mod remote;
pub(crate) mod settings;
pub(crate) mod settings_text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caller::{GitProgram, Timeouts};
use orange_config::Environment;
use own_directory::OwnDirectory;
use remote::RegisteredRemote;
use settings::Settings;

use super::GitError;

/// A repository.
///
/// git is called with our own directory in place of the common directory, so that it reads none of
/// the files there that agents can write; see `own_directory.rs`. Open the repository again for
/// each effect: its configuration is read only once, when it is opened.
#[derive(Clone, Debug)]
pub struct Git {
    pub(in crate::git) caller: GitProgram,
    pub(in crate::git) directory: PathBuf,
    pub(in crate::git) own: Arc<OwnDirectory>,
    pub(in crate::git) settings: Settings,
    pub(in crate::git) registered: Option<RegisteredRemote>,
}

impl Git {
    /// The repository that a directory belongs to; searches upwards as git does. It is for a
    /// directory that the user names; use `open_checkout` for a path that orange has recorded.
    /// `program` is a path or a name on the `PATH`.
    pub fn open(
        program: impl Into<OsString>,
        directory: &Path,
        environment: &Environment,
    ) -> Result<Self, GitError> {
        let caller = GitProgram::new(program.into(), environment);
        let directory = match discover::git_directory(directory) {
            Some(found) => found,
            None => caller.find_git_directory(directory)?,
        };
        Self::open_at(caller, directory)
    }

    /// The repository that is checked out in this directory, never one around it.
    pub fn open_checkout(
        program: impl Into<OsString>,
        checkout: &Path,
        environment: &Environment,
    ) -> Result<Self, GitError> {
        let caller = GitProgram::new(program.into(), environment);
        let directory = match discover::git_directory(checkout) {
            Some(found) => found,
            None => caller.git_directory_of_checkout(checkout)?,
        };
        Self::open_at(caller, directory)
    }

    /// The directory with the objects and refs, which all worktrees share.
    pub fn shared_directory(&self) -> &Path {
        &self.directory
    }

    /// The repository with this git directory.
    pub(in crate::git) fn open_at(
        caller: GitProgram,
        directory: PathBuf,
    ) -> Result<Self, GitError> {
        let settings = Settings::read(&directory.join("config"))?;
        let own = OwnDirectory::create(&caller.folders, &directory, &settings.format())?;
        own.copy_excludes(&directory)?;
        let mut git = Self {
            caller,
            directory,
            own: Arc::new(own),
            settings,
            registered: None,
        };
        git.caller.passed_settings = git.settings.passed_settings();
        // A partial clone needs the remote's settings, because git fetches missing objects while
        // reading.
        if let Some(remote) = git
            .settings
            .remote()
            .filter(|it| it.partial_clone_filter.is_some())
        {
            git.caller.passed_settings.extend(remote.settings());
        }
        git.disable_merge_drivers()?;
        Ok(git)
    }

    /// Makes merge drivers fail that only the repository's configuration defines, so that changes
    /// on both sides conflict. Merging such a file as text would ignore its attributes.
    fn disable_merge_drivers(&mut self) -> Result<(), GitError> {
        let configured = self.settings.names("merge", &[".driver"]);
        if configured.is_empty() {
            return Ok(());
        }
        let user_drivers = self.user_names("merge", &[".driver"])?;
        let disabled = configured.difference(&user_drivers);
        let disabled = disabled.map(|name| (format!("merge.{name}.driver"), String::from("false")));
        self.caller.passed_settings.extend(disabled);
        Ok(())
    }

    /// Sets the timeouts: for local commands, for the network, for a lock held by another process.
    #[must_use]
    pub fn timeouts(mut self, local: Duration, network: Duration, lock: Duration) -> Self {
        self.caller.timeouts = Timeouts {
            read: local,
            long: local,
            network,
            lock,
        };
        self
    }

    pub(in crate::git) fn id_digits(&self) -> usize {
        self.settings.id_digits()
    }

    /// The null object id.
    pub(in crate::git) fn null_id(&self) -> String {
        "0".repeat(self.id_digits())
    }

    /// The common directory that all worktrees of the repository share.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
