//! The worktrees of a repository, and proof that one belongs to it.

pub(crate) mod agent_files;
pub(crate) mod call;
pub(crate) mod disk;
pub(crate) mod entry;
pub(crate) mod facts;
pub(crate) mod filters;
pub(crate) mod ignored_files;
pub(crate) mod include;
mod include_record;
pub(crate) mod index;
pub(crate) mod lock;
pub(crate) mod nested_repositories;
pub(crate) mod operation;
pub(crate) mod pipes;
pub(crate) mod state;
pub(crate) mod status;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::BranchName;

use super::repository::call::{path, split_zero_terminated};
use super::repository::own_directory::read_file;
use super::repository::settings::{Setting, Settings};
use super::{Git, GitError, Operation};
use crate::safe_directory::SafeDirectory;

/// Upper bound on the size of a file in which git records a path or a lock.
const LIMIT: u64 = 64 * 1024;

/// A worktree in git's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedWorktree {
    pub path: PathBuf,
    /// The branch it is on, or that a rebase in it is about.
    pub branch: Option<BranchName>,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
}

/// A directory proved to be a worktree of the repository: it and git's record refer to each other.
#[derive(Clone, Debug)]
pub struct Worktree<'a> {
    git: &'a Git,
    path: PathBuf,
    directory: PathBuf,
    /// The settings of the repository and of the worktree, combined.
    settings: Settings,
    passed_settings: Vec<Setting>,
}

impl Git {
    /// The root of the worktree that contains a directory, whichever repository it belongs to.
    pub fn toplevel(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        self.caller
            .discovery_call(directory)
            .with_arguments(words)
            .path()
    }

    /// Every recorded worktree, the main one first.
    pub fn worktrees(&self) -> Result<Vec<ListedWorktree>, GitError> {
        let mut found = match self.worktrees_in_files() {
            Some(found) => found,
            None => self.worktrees_by_git()?,
        };
        // During a rebase or bisect, a branch is checked out although HEAD is detached.
        for listed in found.iter_mut().filter(|it| it.branch.is_none()) {
            if let Ok(directory) = self.record_of(&listed.path) {
                listed.branch = Operation::branch_in(&directory);
            }
        }
        Ok(found)
    }

    /// Every worktree according to git's record files; `None` when in doubt.
    fn worktrees_in_files(&self) -> Option<Vec<ListedWorktree>> {
        let main = self.directory.parent();
        let main = main.filter(|_| self.directory.ends_with(".git"))?;
        let mut found = Vec::new();
        let entries = match fs::read_dir(self.directory.join("worktrees")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries.ok()?),
        };
        for entry in entries.into_iter().flatten() {
            let record = entry.ok()?.path();
            // A record without a path is being created, or is broken, and git does not list it.
            let Some(place) = read_file(&record.join("gitdir"), LIMIT).ok()? else {
                continue;
            };
            let place = record.join(path(place.trim_ascii_end()));
            if !place.ends_with(".git") {
                return None;
            }
            let locked = read_file(&record.join("locked"), LIMIT).ok()?;
            let locked = locked.map(|it| String::from_utf8_lossy(&it).trim().to_owned());
            found.push(ListedWorktree {
                path: place.parent()?.to_owned(),
                branch: self.head_in_file(&record)?.0,
                locked,
            });
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let main = ListedWorktree {
            path: main.to_owned(),
            branch: self.head_in_file(&self.directory)?.0,
            locked: None,
        };
        found.insert(0, main);
        Some(found)
    }

    fn worktrees_by_git(&self) -> Result<Vec<ListedWorktree>, GitError> {
        let call = self.call_recording(["worktree", "list", "--porcelain", "-z"]);
        let bytes = call.bytes()?;
        let mut found: Vec<ListedWorktree> = Vec::new();
        for part in split_zero_terminated(&bytes).filter(|part| !part.is_empty()) {
            let space = part.iter().position(|byte| *byte == b' ');
            let (word, rest) = part.split_at(space.unwrap_or(part.len()));
            let rest = rest.get(1..).unwrap_or_default();
            if word == b"worktree" {
                found.push(ListedWorktree {
                    path: path(rest),
                    branch: None,
                    locked: None,
                });
                continue;
            }
            let last = found
                .last_mut()
                .ok_or_else(|| call.malformed_output(part))?;
            let text = String::from_utf8_lossy(rest);
            match word {
                b"branch" => {
                    let name = text.strip_prefix("refs/heads/").unwrap_or(&text);
                    last.branch = Some(BranchName::new(name));
                }
                b"locked" => last.locked = Some(text.into_owned()),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The worktree in which a branch is checked out, if any.
    pub fn checkout_of(&self, branch: &BranchName) -> Result<Option<PathBuf>, GitError> {
        let found = self.worktrees()?.into_iter();
        let mut found = found.filter(|listed| listed.branch.as_ref() == Some(branch));
        Ok(found.next().map(|listed| listed.path))
    }

    /// The worktree at a directory, if the directory and git's record refer to each other.
    pub fn worktree(&self, path: &Path) -> Result<Worktree<'_>, GitError> {
        let mismatch = |reason: &str| GitError::WorktreeMismatch {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let real = path
            .canonicalize()
            .map_err(|_| mismatch("there is no such directory"))?;
        let directory = self.record_of(&real)?;
        let settings = if self.settings.has_worktree_settings() {
            Settings::read(&directory.join("config.worktree"))?
        } else {
            Settings::default()
        };
        Ok(Worktree {
            git: self,
            path: real,
            directory,
            passed_settings: settings.passed_settings(),
            settings: self.settings.clone().and(settings),
        })
    }

    /// A directory that was proved in another way to belong to this repository.
    pub(super) fn assumed_worktree(&self, path: &Path) -> Worktree<'_> {
        Worktree {
            git: self,
            path: path.to_owned(),
            directory: self.directory.clone(),
            settings: self.settings.clone(),
            passed_settings: Vec::new(),
        }
    }

    /// git's own directory for the worktree at a path.
    fn record_of(&self, path: &Path) -> Result<PathBuf, GitError> {
        let mismatch = |reason: &str| GitError::WorktreeMismatch {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let entry = path.join(".git");
        let kind = fs::symlink_metadata(&entry).map_err(|_| mismatch("it has no `.git`"))?;
        if kind.is_dir() {
            let real = entry.canonicalize();
            let real = real.map_err(|_| mismatch("its `.git` cannot be read"))?;
            let is_main = self.directory.canonicalize().is_ok_and(|own| own == real);
            return is_main
                .then(|| self.directory.clone())
                .ok_or_else(|| mismatch("it is a separate repository"));
        }
        if !kind.is_file() {
            return Err(mismatch("its `.git` is not a regular file"));
        }
        let text = read_file(&entry, LIMIT).ok().flatten();
        let text = text.ok_or_else(|| mismatch("its `.git` cannot be read"))?;
        let target = text.strip_prefix(b"gitdir: ").unwrap_or_default();
        let target = path.join(super::repository::call::path(target.trim_ascii_end()));
        let target = target.canonicalize();
        let target =
            target.map_err(|_| mismatch("its `.git` points to a directory that does not exist"))?;
        let records = self.directory.join("worktrees").canonicalize();
        if records.ok().as_deref() != target.parent() {
            return Err(mismatch("it belongs to another repository"));
        }
        let recorded = read_file(&target.join("gitdir"), LIMIT).ok().flatten();
        let recorded = recorded.ok_or_else(|| mismatch("git has no record of its path"))?;
        let recorded = target.join(super::repository::call::path(recorded.trim_ascii_end()));
        let is_same = recorded.canonicalize().ok() == entry.canonicalize().ok();
        is_same
            .then_some(target)
            .ok_or_else(|| mismatch("git has recorded it at another path"))
    }
}

impl<'a> Worktree<'a> {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// git's own directory for it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn git(&self) -> &'a Git {
        self.git
    }

    /// The combined settings of the worktree and the repository.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Renames a branch that this worktree is on; no branch may have the new name.
    pub fn rename_branch(&self, from: &BranchName, to: &BranchName) -> Result<(), GitError> {
        let rename = ["branch", "-m", "--", from.as_str(), to.as_str()];
        self.call(rename).succeed()
    }

    /// The settings of its own configuration that are passed to git.
    pub(super) fn own_settings(&self) -> &[Setting] {
        &self.passed_settings
    }

    pub(super) fn place(&self) -> Result<SafeDirectory, GitError> {
        SafeDirectory::open(&self.path).map_err(GitError::system("open", &self.path))
    }

    /// Turns an I/O error about one of its files into a `GitError`.
    pub(super) fn file_error(
        &self,
        verb: &'static str,
        file: &Path,
    ) -> impl Fn(io::Error) -> GitError + use<> {
        GitError::system(verb, &self.path.join(file))
    }
}

/// Whether two paths are the same location, as far as they exist.
pub(super) fn is_same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| match path.canonicalize() {
        Ok(real) => real,
        // The directory may be gone; its parent still resolves.
        Err(_) => match (path.parent().map(Path::canonicalize), path.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => path.to_owned(),
        },
    };
    real(one).as_os_str().as_bytes() == real(other).as_os_str().as_bytes()
}
