//! Repositories inside a worktree, which a snapshot cannot save.

use std::path::{Path, PathBuf};

use super::status::WorktreeStatus;
use crate::git::{Git, GitError, Worktree};
use crate::safe_directory::EntryKind;

/// How deep submodules are followed; deeper ones count as dirty.
const DEEPEST: usize = 8;

impl Worktree<'_> {
    /// The submodules with uncommitted work; one that cannot be read counts as dirty.
    pub(crate) fn dirty_submodules(&self, look: &WorktreeStatus) -> Result<Vec<PathBuf>, GitError> {
        self.dirty_below(look, DEEPEST)
    }

    /// The submodules that are not checked out.
    pub(crate) fn empty_submodules(&self, look: &WorktreeStatus) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let mut empty = Vec::new();
        for submodule in look.submodules() {
            let path = &submodule.path;
            let names = place.names(path).map_err(self.file_error("list", path))?;
            if names.is_empty() {
                empty.push(path.clone());
            }
        }
        Ok(empty)
    }

    fn dirty_below(&self, look: &WorktreeStatus, depth: usize) -> Result<Vec<PathBuf>, GitError> {
        let place = self.place()?;
        let mut dirty = look.moved_submodules.clone();
        for submodule in look.submodules() {
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
        let look = || -> Result<bool, GitError> {
            let git = self.git().open_submodule(path)?;
            let inner = git.assumed_worktree(path);
            let look = inner.status()?;
            Ok(look.is_clean()
                && look.operations.is_empty()
                && look
                    .head
                    .commit()
                    .is_some_and(|head| head.as_str() == commit)
                && depth > 0
                && inner.dirty_below(&look, depth - 1)?.is_empty())
        };
        look().unwrap_or(false)
    }
}

impl Git {
    /// The repository of a submodule, with its own programs disabled.
    fn open_submodule(&self, path: &Path) -> Result<Git, GitError> {
        let ask = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
        let ask = ["rev-parse", "--path-format=absolute"]
            .into_iter()
            .chain(ask);
        let call = self.caller.discovery_call(path).with_arguments(ask);
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
