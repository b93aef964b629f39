//! What commits contain, so that a copy on disk may be deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use crate::git::rescue::rescues::Content;
use crate::git::worktree::disk::{DiskEntry, HashMode};
use crate::git::worktree::entry::{Entry, LINK, Tree};
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{Git, GitError, Rescue, Worktree};

/// What `git add --intent-to-add` puts into the index: an empty file.
const NOTHING: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Contents that are stored outside the worktree.
#[derive(Default)]
pub(crate) struct SavedContents {
    /// Byte for byte, as a rescue stores them.
    exact: Vec<Tree>,
    /// The index as a rescue stores it.
    staged: Vec<Tree>,
    unmerged: BTreeSet<(PathBuf, u8, Entry)>,
    /// Compared as git writes them to disk, with filters and line endings applied. The commit's id
    /// is present if its attributes may have been in effect.
    commits: Vec<(Option<CommitId>, Tree)>,
}

/// The changes in a worktree, divided by whether they are saved.
pub(crate) struct SavedCheck {
    /// The paths that are saved, each with the content that it had on disk when it was checked.
    pub proved: BTreeMap<PathBuf, Entry>,
    /// Saved nowhere else.
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
    pub fn and_index(mut self, look: &WorktreeStatus) -> Self {
        let resolved = look.index.iter().filter(|it| it.stage == 0);
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
            let known = (path.to_owned(), stage, entry.clone());
            return self.unmerged.contains(&known);
        }
        let commits = self.commits.iter().map(|(_, tree)| tree);
        let mut trees = self.staged.iter().chain(commits).chain(&self.exact);
        NOTHING.contains(&&*entry.id) || trees.any(|tree| tree.get(path) == Some(entry))
    }

    /// Whether one of the commits has exactly this at a path.
    pub fn is_in_commits(&self, path: &Path, entry: &Entry) -> bool {
        let mut trees = self.commits.iter().map(|(_, tree)| tree);
        trees.any(|tree| tree.get(path) == Some(entry))
    }

    /// Checks every path that differs from HEAD.
    pub fn judge(
        &self,
        worktree: &Worktree<'_>,
        look: &WorktreeStatus,
    ) -> Result<SavedCheck, GitError> {
        let paths = look.paths();
        let found = worktree.on_disk(&paths, HashMode::Hash)?;
        let mut judged = self.judge_found(worktree, &found, true)?;
        let staged = look.index.iter().filter(|it| paths.contains(&it.path));
        let lost = staged.filter(|it| !self.has_staged(&it.path, it.stage, &it.entry));
        judged.unproved.extend(lost.map(|it| it.path.clone()));
        judged
            .proved
            .retain(|path, _| !judged.unproved.contains(path));
        Ok(judged)
    }

    /// Checks what is on disk. With `beginnings`, a truncated copy of a saved file counts as saved,
    /// because a process may have been killed while writing it.
    pub fn judge_found(
        &self,
        worktree: &Worktree<'_>,
        found: &BTreeMap<PathBuf, DiskEntry>,
        beginnings: bool,
    ) -> Result<SavedCheck, GitError> {
        let mut judged = SavedCheck {
            proved: BTreeMap::new(),
            unproved: BTreeSet::new(),
        };
        let mut uncertain = Vec::new();
        for (path, found) in found {
            match found {
                // The files in a directory are checked one by one.
                DiskEntry::Absent | DiskEntry::Folder => {}
                DiskEntry::Other => {
                    judged.unproved.insert(path.clone());
                }
                DiskEntry::Entry(entry) if self.has_exact(path, entry) => {
                    judged.proved.insert(path.clone(), entry.clone());
                }
                DiskEntry::Entry(entry) => uncertain.push((path.as_path(), entry)),
            }
        }
        for (path, entry) in uncertain {
            if self.has_as_written(worktree, path, entry, beginnings)? {
                judged.proved.insert(path.to_owned(), entry.clone());
            } else {
                judged.unproved.insert(path.to_owned());
            }
        }
        Ok(judged)
    }

    /// Whether a file is what git writes for a commit or, with `beginnings`, the beginning of it.
    fn has_as_written(
        &self,
        worktree: &Worktree<'_>,
        path: &Path,
        entry: &Entry,
        beginnings: bool,
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
        let earlier = self
            .commits
            .iter()
            .filter_map(|(commit, _)| commit.as_ref());
        for attributes_of in [None]
            .into_iter()
            .chain(earlier.map(|it| Some(it.as_str())))
        {
            let id = worktree.hash_as_added(&[path], attributes_of)?.pop();
            let id = id.unwrap_or_default();
            if self.is_in_commits(path, &Entry { mode, id }) {
                return Ok(true);
            }
        }
        if !beginnings {
            return Ok(false);
        }
        let full = worktree.path().join(path);
        let bytes = fs::read(&full).map_err(GitError::system("read", &full))?;
        // The bytes read must be those that were hashed.
        let read = worktree
            .call(["hash-object", "--stdin"])
            .input(bytes.clone())
            .text()?;
        if read != entry.id {
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
