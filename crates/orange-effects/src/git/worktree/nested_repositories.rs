//! Repositories inside a worktree, which a rescue cannot save.

use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use super::status::WorktreeStatus;
use crate::git::{Git, GitError, Worktree};
use crate::safe_directory::EntryKind;

/// How deep submodules are followed; deeper ones count as dirty.
const MAX_DEPTH: usize = 8;

/// A submodule that is checked out.
pub(crate) struct Submodule {
    /// Its path below the outermost worktree.
    pub path: PathBuf,
    pub git: Git,
}

impl Submodule {
    /// Whether it has commits that no branch of its remotes had; `true` when in doubt.
    pub fn has_own_commits(&self) -> bool {
        let own = ["rev-list", "--max-count=1", "--all", "--reflog", "HEAD"];
        let call = self.git.call(own).with_arguments(["--not", "--remotes"]);
        call.bytes().map_or(true, |found| !found.is_empty())
    }
}

impl Worktree<'_> {
    /// The submodules that are checked out, and those that are checked out inside them.
    pub(crate) fn checked_out_submodules(
        &self,
        status: &WorktreeStatus,
    ) -> Result<Vec<Submodule>, GitError> {
        self.checked_out_below(status, MAX_DEPTH)
    }

    fn checked_out_below(
        &self,
        status: &WorktreeStatus,
        depth: usize,
    ) -> Result<Vec<Submodule>, GitError> {
        let place = self.place()?;
        let mut found = Vec::new();
        for submodule in status.submodules() {
            let path = &submodule.path;
            let names = place.names(path).map_err(self.file_error("list", path))?;
            if names.is_empty() {
                continue;
            }
            let inside = self.path().join(path);
            let git = self.git().open_submodule(&inside)?;
            if depth > 0 {
                let inner = git.assumed_worktree(&inside);
                for mut below in inner.checked_out_below(&inner.status()?, depth - 1)? {
                    below.path = path.join(&below.path);
                    found.push(below);
                }
            }
            found.push(Submodule {
                path: path.clone(),
                git,
            });
        }
        Ok(found)
    }

    /// The commit that is checked out in a submodule; `None` when it cannot be read.
    pub(crate) fn submodule_commit(&self, path: &Path) -> Option<CommitId> {
        let inside = self.path().join(path);
        let git = self.git().open_submodule(&inside).ok()?;
        let head = git.assumed_worktree(&inside).head().ok()?;
        head.commit().cloned()
    }

    /// The submodules with uncommitted work; one that cannot be read counts as dirty.
    pub(crate) fn dirty_submodules(
        &self,
        status: &WorktreeStatus,
    ) -> Result<Vec<PathBuf>, GitError> {
        self.dirty_below(status, MAX_DEPTH)
    }

    fn dirty_below(&self, status: &WorktreeStatus, depth: usize) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let mut dirty = status.moved_submodules.clone();
        for submodule in status.submodules() {
            let path = &submodule.path;
            let names = place.names(path).map_err(self.file_error("list", path))?;
            let is_empty = names.is_empty();
            let kind = place.kind(path).map_err(self.file_error("inspect", path))?;
            if kind == EntryKind::Absent
                || (kind == EntryKind::Folder && is_empty)
                || dirty.contains(path)
            {
                continue;
            }
            let inside = self.path().join(path);
            let is_clean = names.iter().any(|name| name == ".git")
                && self.is_clean_inside(&inside, &submodule.entry.id, depth);
            if !is_clean {
                dirty.push(path.clone());
            }
        }
        Ok(dirty)
    }

    fn is_clean_inside(&self, path: &Path, commit: &str, depth: usize) -> bool {
        let check = || -> Result<bool, GitError> {
            let git = self.git().open_submodule(path)?;
            let inner = git.assumed_worktree(path);
            let status = inner.status()?;
            Ok(status.is_clean()
                && status.operations.is_empty()
                && status
                    .head
                    .commit()
                    .is_some_and(|head| head.as_str() == commit)
                && depth > 0
                && inner.dirty_below(&status, depth - 1)?.is_empty())
        };
        check().unwrap_or(false)
    }
}

impl Git {
    /// The repository of a submodule, with the programs that its configuration names disabled.
    fn open_submodule(&self, path: &Path) -> Result<Git, GitError> {
        let options = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
        let words = ["rev-parse", "--path-format=absolute"]
            .into_iter()
            .chain(options);
        let call = self.caller.discovery_call(path).with_arguments(words);
        let output = call.bytes()?;
        let mut lines = output
            .split(|byte| *byte == b'\n')
            .map(crate::git::repository::call::path);
        let mut line = || lines.next().ok_or_else(|| call.malformed_output(&output));
        let (top, directory, common) = (line()?, line()?, line()?);
        // A git directory that shares its settings with others is refused: no clone creates such a
        // submodule.
        let is_own = path.canonicalize().is_ok_and(|real| real == top) && directory == common;
        if !is_own {
            return Err(GitError::WorktreeMismatch {
                path: path.to_owned(),
                reason: "it is not a separate repository".to_owned(),
            });
        }
        Git::open_at(self.caller.clone(), directory)
    }
}
