//! What the submodules of a worktree hold that its removal would delete.
//!
//! The files of a submodule are in the worktree; its commits are in a git directory of its own,
//! which git keeps in its record of the worktree and deletes with that record.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use crate::git::worktree::nested_repositories::Submodule;
use crate::git::{Git, GitError, Worktree};
use crate::private_file;

/// The part of git's record that holds the git directories of submodules.
const MODULES: &str = "modules";

/// Where git directories of removed worktrees are kept: in the repository, because a directory can
/// be renamed only within its disk.
const KEPT: &str = "orange-submodules";

impl Git {
    /// Where the git directories of submodules of removed worktrees are, one folder per worktree.
    pub fn kept_submodules(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.directory().join(KEPT));
        let folders = folders.into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|it| it.path()).collect();
        folders.sort();
        folders
    }

    /// Moves the git directories of submodules out of git's record of a worktree; returns where
    /// they are now, if there are any.
    pub(super) fn keep_submodules(
        &self,
        workspace: &str,
        record: &Path,
    ) -> Result<Option<PathBuf>, GitError> {
        let from = record.join(MODULES);
        if !from.is_dir() {
            return Ok(None);
        }
        let folder = self.directory().join(KEPT);
        let named = |number: u32| folder.join(format!("{workspace}-{number}"));
        let mut free = (1..=u32::MAX).map(named);
        let to = free.find(|to| fs::symlink_metadata(to).is_err());
        let to = to.unwrap_or_else(|| named(1));
        private_file::make_folder(&to)?;
        fs::rename(&from, &to).map_err(GitError::system("move", &from))?;
        self.detach_submodules(&to);
        Ok(Some(to))
    }

    /// Makes the git directories below a folder forget their worktrees, which are gone: git could
    /// not fetch from them otherwise. The commits are safe whether or not this succeeds.
    fn detach_submodules(&self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())) {
            let directory = entry.path();
            let config = directory.join("config");
            if !fs::symlink_metadata(&config).is_ok_and(|it| it.is_file()) {
                // A module whose name contains a slash is in a subfolder.
                self.detach_submodules(&directory);
                continue;
            }
            let call = self.call(["config", "--file"]).with_arguments([&config]);
            let _unset = call
                .with_arguments(["--unset-all", "core.worktree"])
                .succeed();
            self.detach_submodules(&directory.join(MODULES));
        }
    }
}

impl Worktree<'_> {
    /// Why submodules prevent the worktree's removal although they are clean; changes nothing.
    pub fn embedded_submodules(&self) -> Result<Vec<String>, GitError> {
        let submodules = self.checked_out_submodules(&self.status()?)?.into_iter();
        let embedded = submodules.filter(|it| it.git.directory().starts_with(self.path()));
        let reason = |path: PathBuf| {
            let (shown, worktree) = (path.to_string_lossy(), self.path().display());
            let shown = shown.escape_debug();
            let status = self.call(["submodule", "status", "--"]);
            if status.with_arguments([&path]).succeed().is_err() {
                return format!(
                    "the repository `{shown}` is in the worktree, and `.gitmodules` does not name \
                     it; move it out with `mv '{worktree}/{shown}' DIRECTORY`"
                );
            }
            format!(
                "the git directory of the submodule `{shown}` is in the worktree; move it out with \
                 `git -C '{worktree}' submodule absorbgitdirs`"
            )
        };
        Ok(embedded.map(|it| reason(it.path)).collect())
    }

    /// Whether the git directories of its submodules may hold something that no remote has. The git
    /// directory of a submodule that is not checked out counts too, because nothing says what it is
    /// for.
    pub(super) fn has_submodule_work(&self) -> Result<bool, GitError> {
        let modules = self.directory().join(MODULES);
        let Ok(modules) = modules.canonicalize() else {
            return Ok(false);
        };
        let submodules = self.checked_out_submodules(&self.status()?)?;
        let known = submodules.iter();
        let known = known.filter_map(|it| it.git.directory().canonicalize().ok());
        let known: BTreeSet<PathBuf> = known.collect();
        Ok(submodules.iter().any(Submodule::has_own_commits) || !has_only(&modules, &known))
    }

    /// Warnings about submodules whose commit changed between `from` and `to`, if none of the
    /// submodule's remotes has the new commit.
    pub fn unpublished_submodules(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Vec<String>, GitError> {
        let changed = self.git().changed_paths(from, to)?;
        let tree = self.git().tree(to.as_str())?;
        let mut found = Vec::new();
        for submodule in self.checked_out_submodules(&self.status()?)? {
            let path = &submodule.path;
            let Some(entry) = tree.get(path).filter(|_| changed.contains(path)) else {
                continue;
            };
            let commit = &entry.id;
            let call = ["rev-list", "--max-count=1", commit, "--not", "--remotes"];
            // If the submodule lacks the commit, the commit was not made in this worktree.
            let commits = submodule.git.call(call).bytes().unwrap_or_default();
            if !commits.is_empty() {
                let (shown, directory) = (path.to_string_lossy(), submodule.git.directory());
                found.push(format!(
                    "the submodule `{}` is now at {commit}, which none of its remotes has; push \
                     it from `{}`, then run `git submodule update --init` in your checkout",
                    shown.escape_debug(),
                    directory.display()
                ));
            }
        }
        Ok(found)
    }

    /// Moves ignored files aside, including those in submodules.
    pub(super) fn move_all_ignored(&self, aside: &Path) -> Result<(), GitError> {
        let entries = self.ignored_entries()?;
        if !entries.is_empty() {
            self.move_aside(&entries, aside)?;
        }
        for submodule in self.checked_out_submodules(&self.status()?)? {
            let inside = self.path().join(&submodule.path);
            let inner = submodule.git.assumed_worktree(&inside);
            let entries = inner.ignored_entries()?;
            if !entries.is_empty() {
                inner.move_aside(&entries, &aside.join(&submodule.path))?;
            }
        }
        Ok(())
    }

    /// Whether the worktree or one of its submodules has ignored files.
    pub(super) fn has_ignored(&self) -> Result<bool, GitError> {
        if !self.ignored_entries()?.is_empty() {
            return Ok(true);
        }
        for submodule in self.checked_out_submodules(&self.status()?)? {
            let inside = self.path().join(&submodule.path);
            let inner = submodule.git.assumed_worktree(&inside);
            if !inner.ignored_entries()?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a directory of git directories has no others than these; `false` when in doubt.
fn has_only(folder: &Path, known: &BTreeSet<PathBuf>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let mut entries = entries.map(|it| it.map(|it| it.path()));
    entries.all(|path| match path {
        Ok(path) if known.contains(&path) => {
            let inner = path.join(MODULES);
            !inner.exists() || has_only(&inner, known)
        }
        Ok(path) => path.is_dir() && !path.is_symlink() && has_only(&path, known),
        Err(_) => false,
    })
}
