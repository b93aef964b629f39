//! Finds the repository that a directory belongs to.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::caller::GitProgram;
use crate::git::GitError;

/// The git directory of a checkout, in the simple case: it is inside the checkout itself, has no
/// `commondir`, and both belong to the user. `None` in any other case: git then has to find it.
pub(crate) fn git_directory(checkout: &Path) -> Option<PathBuf> {
    let found = checkout.join(".git");
    let user = rustix::process::geteuid().as_raw();
    for folder in [checkout, &found] {
        let kind = fs::symlink_metadata(folder).ok()?;
        if !kind.is_dir() || kind.uid() != user {
            return None;
        }
    }
    let exists = |name: &str| fs::symlink_metadata(found.join(name)).is_ok();
    let is_complete = ["HEAD", "config", "objects", "refs"]
        .into_iter()
        .all(exists);
    if !is_complete || exists("commondir") {
        return None;
    }
    found.canonicalize().ok()
}

impl GitProgram {
    /// The git directory of the checkout whose top is this directory. By itself git would search
    /// upwards, and if the checkout is gone, it would find a repository around it.
    pub(crate) fn git_directory_of_checkout(&self, checkout: &Path) -> Result<PathBuf, GitError> {
        let not_a_checkout = |outer| GitError::NotACheckout {
            path: checkout.to_owned(),
            outer,
        };
        if matches!(checkout.join(".git").try_exists(), Ok(false)) {
            return Err(not_a_checkout(None));
        }
        // Git also searches on above a `.git` that is no repository.
        let words = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let top = self.discovery_call(checkout).with_arguments(words).path();
        let top = top.map_err(|error| not_a_repository(checkout, &error))?;
        if checkout.canonicalize().is_ok_and(|real| real == top) {
            return self.find_git_directory(checkout);
        }
        Err(not_a_checkout(Some(top)))
    }

    /// The git directory of a repository, found by git's own search upwards from a directory.
    pub(crate) fn find_git_directory(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let found = self.discovery_call(directory).with_arguments(words).path();
        found.map_err(|error| not_a_repository(directory, &error))
    }
}

fn not_a_repository(directory: &Path, error: &GitError) -> GitError {
    GitError::NotARepository {
        path: directory.to_owned(),
        reason: error.to_string(),
    }
}
