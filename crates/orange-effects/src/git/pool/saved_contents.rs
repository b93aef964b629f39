//! Checks that a file's content is saved before its copy is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use crate::git::rescue::rescues::Content;
use crate::git::worktree::disk::{DiskEntry, HashMode};
use crate::git::worktree::entry::{Entry, LINK, Tree};
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{Git, GitError, Rescue, Worktree};

/// The ids of an empty file, which `git add --intent-to-add` puts into the index.
const EMPTY_FILE_IDS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Contents that are stored outside the worktree.
#[derive(Default)]
pub(crate) struct SavedContents {
    /// The files of rescues, which store them byte for byte.
    exact: Vec<Tree>,
    /// The index as a rescue stores it.
    staged: Vec<Tree>,
    unmerged: BTreeSet<(PathBuf, u8, Entry)>,
    /// The files of commits, compared as git writes them to disk, with filters and line endings
    /// applied. The id is there if the commit's attributes may have been in effect.
    commits: Vec<(Option<CommitId>, Tree)>,
}

/// The changes in a worktree, divided by whether they are saved.
pub(crate) struct SavedCheck {
    /// The paths that are saved, each with the content that it had on disk when it was checked.
    pub proved: BTreeMap<PathBuf, Entry>,
    /// The paths whose content is saved nowhere else.
    pub unproved: BTreeSet<PathBuf>,
}

impl SavedContents {
    /// Adds everything in a commit.
    pub fn and_commit(mut self, git: &Git, commit: &CommitId) -> Result<Self, GitError> {
        let tree = git.tree(commit.as_str())?;
        self.commits.push((Some(commit.clone()), tree));
        Ok(self)
    }

    /// Adds everything in the index, for a worktree that is being filled from its index.
    pub fn and_index(mut self, status: &WorktreeStatus) -> Self {
        let resolved = status.index.iter().filter(|it| it.stage == 0);
        let entries = resolved.map(|it| (it.path.clone(), it.entry.clone()));
        self.commits.push((None, entries.collect()));
        self
    }

    /// Adds everything in a rescue.
    pub fn and_rescue(mut self, rescued: &Rescue, content: &Content) -> Self {
        self.exact.push(content.work.clone());
        self.staged.push(content.index.clone());
        self.unmerged.extend(content.unmerged.iter().cloned());
        let head = rescued.about.head.clone();
        self.commits.push((head, content.before.clone()));
        self
    }

    fn has_exact(&self, path: &Path, entry: &Entry) -> bool {
        self.exact.iter().any(|tree| tree.get(path) == Some(entry))
    }

    fn has_staged(&self, path: &Path, stage: u8, entry: &Entry) -> bool {
        if stage != 0 {
            let key = (path.to_owned(), stage, entry.clone());
            return self.unmerged.contains(&key);
        }
        let commits = self.commits.iter().map(|(_, tree)| tree);
        let mut trees = self.staged.iter().chain(commits).chain(&self.exact);
        EMPTY_FILE_IDS.contains(&&*entry.id) || trees.any(|tree| tree.get(path) == Some(entry))
    }

    /// Whether one of the commits has exactly this entry at a path.
    pub fn is_in_commits(&self, path: &Path, entry: &Entry) -> bool {
        let mut trees = self.commits.iter().map(|(_, tree)| tree);
        trees.any(|tree| tree.get(path) == Some(entry))
    }

    /// Checks every path that differs from HEAD.
    pub fn judge(
        &self,
        worktree: &Worktree<'_>,
        status: &WorktreeStatus,
    ) -> Result<SavedCheck, GitError> {
        let paths = status.paths();
        let found = worktree.on_disk(&paths, HashMode::Hash)?;
        let mut check = self.judge_found(worktree, &found, true)?;
        let staged = status.index.iter().filter(|it| paths.contains(&it.path));
        let unsaved = staged.filter(|it| !self.has_staged(&it.path, it.stage, &it.entry));
        check.unproved.extend(unsaved.map(|it| it.path.clone()));
        check
            .proved
            .retain(|path, _| !check.unproved.contains(path));
        Ok(check)
    }

    /// Checks what is on disk. With `accept_truncated`, a truncated copy of a saved file counts as
    /// saved, because a process may have been killed while writing it.
    pub fn judge_found(
        &self,
        worktree: &Worktree<'_>,
        found: &BTreeMap<PathBuf, DiskEntry>,
        accept_truncated: bool,
    ) -> Result<SavedCheck, GitError> {
        let mut check = SavedCheck {
            proved: BTreeMap::new(),
            unproved: BTreeSet::new(),
        };
        let mut uncertain = Vec::new();
        for (path, found) in found {
            match found {
                // The files in a directory are checked one by one.
                DiskEntry::Absent | DiskEntry::Folder => {}
                DiskEntry::Other => {
                    check.unproved.insert(path.clone());
                }
                DiskEntry::Entry(entry) if self.has_exact(path, entry) => {
                    check.proved.insert(path.clone(), entry.clone());
                }
                DiskEntry::Entry(entry) => uncertain.push((path.as_path(), entry)),
            }
        }
        for (path, entry) in uncertain {
            if self.has_as_written(worktree, path, entry, accept_truncated)? {
                check.proved.insert(path.to_owned(), entry.clone());
            } else {
                check.unproved.insert(path.to_owned());
            }
        }
        Ok(check)
    }

    /// Whether a file is what git writes for a commit or, with `accept_truncated`, the beginning
    /// of that.
    fn has_as_written(
        &self,
        worktree: &Worktree<'_>,
        path: &Path,
        entry: &Entry,
        accept_truncated: bool,
    ) -> Result<bool, GitError> {
        let mut trees = self.commits.iter().map(|(_, tree)| tree);
        if trees.all(|tree| !tree.contains_key(path)) {
            return Ok(false);
        }
        if entry.mode == LINK || self.is_in_commits(path, entry) {
            return Ok(self.is_in_commits(path, entry));
        }
        let mode = entry.mode;
        // The attributes of every commit are tried, because a switch changes the attributes of
        // files that it does not rewrite.
        let commit_ids = self
            .commits
            .iter()
            .filter_map(|(commit, _)| commit.as_ref());
        for attributes_of in [None]
            .into_iter()
            .chain(commit_ids.map(|it| Some(it.as_str())))
        {
            let id = worktree.hash_as_added(&[path], attributes_of)?.pop();
            let id = id.unwrap_or_default();
            if self.is_in_commits(path, &Entry { mode, id }) {
                return Ok(true);
            }
        }
        if !accept_truncated {
            return Ok(false);
        }
        let full = worktree.path().join(path);
        let bytes = fs::read(&full).map_err(GitError::system("read", &full))?;
        // The bytes read must be those that were hashed.
        let read_id = worktree
            .call(["hash-object", "--stdin"])
            .input(bytes.clone())
            .text()?;
        if read_id != entry.id {
            return Ok(false);
        }
        for committed in self.commits.iter().filter_map(|(_, tree)| tree.get(path)) {
            if worktree
                .as_written(path, &committed.id)?
                .starts_with(&bytes)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a file that was moved aside from a path is saved.
    pub fn has_held(
        &self,
        worktree: &Worktree<'_>,
        path: &Path,
        held: &Path,
        entry: &Entry,
    ) -> Result<bool, GitError> {
        if self.has_exact(path, entry) || self.is_in_commits(path, entry) {
            return Ok(true);
        }
        if entry.mode == LINK {
            return Ok(false);
        }
        let mut as_path = std::ffi::OsString::from("--path=");
        as_path.push(path);
        let call = worktree.call(["hash-object"]).with_arguments([as_path]);
        let id = call.with_arguments(["--"]).with_arguments([held]).text()?;
        let mode = entry.mode;
        Ok(self.is_in_commits(path, &Entry { mode, id }))
    }
}

impl Worktree<'_> {
    /// A blob as git would write it to this path.
    pub(crate) fn as_written(&self, path: &Path, id: &str) -> Result<Vec<u8>, GitError> {
        let mut as_path = std::ffi::OsString::from("--path=");
        as_path.push(path);
        let call = self
            .call(["cat-file", "--filters"])
            .with_arguments([as_path]);
        call.with_arguments([id]).bytes()
    }
}
