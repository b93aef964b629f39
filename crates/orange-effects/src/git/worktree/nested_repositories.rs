//! Repositories inside a worktree, which a rescue cannot save.

use std::path::{Path, PathBuf};

use super::status::WorktreeStatus;
use crate::git::{Git, GitError, Worktree};
use crate::safe_directory::EntryKind;

/// How deep submodules are followed; deeper ones count as dirty.
const MAX_DEPTH: usize = 8;

impl Worktree<'_> {
    /// The submodules with uncommitted work; one that cannot be read counts as dirty.
    pub(crate) fn dirty_submodules(
        &self,
        status: &WorktreeStatus,
    ) -> Result<Vec<PathBuf>, GitError> {
        self.dirty_below(status, MAX_DEPTH)
    }

    /// The submodules that are not checked out.
    pub(crate) fn empty_submodules(
        &self,
        status: &WorktreeStatus,
    ) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let mut empty = Vec::new();
        for submodule in status.submodules() {
            let path = &submodule.path;
            let names = place.names(path).map_err(self.file_error("list", path))?;
            if names.is_empty() {
                empty.push(path.clone());
            }
        }
        Ok(empty)
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
