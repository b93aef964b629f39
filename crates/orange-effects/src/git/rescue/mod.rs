//! Saves all unsaved work in a worktree as one commit.
//!
//! The commit's tree is the worktree, byte for byte and without filters. Its parents are HEAD, a
//! commit of the index, and, while an operation is in progress, a commit of its state. Worktree and
//! index are only read. The ref is written last, after a second reading has found every byte in the
//! commit.

pub(crate) mod rescues;
pub(crate) mod restore;
pub(crate) mod restored_refs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::{CommitId, TaskId};

use super::repository::name::task_part;
use super::worktree::disk::{DiskEntry, HashMode};
use super::worktree::entry::{Entry, FILE};
use super::worktree::status::WorktreeStatus;
use super::{GitError, Operation, Rescue, RescueOrigin, Worktree};
use crate::git::rescue::rescues::{STAGES, STATE};

/// How often a worktree that keeps changing is read before we give up.
const ROUNDS: usize = 3;

/// The parents of a commit.
type Parents = Vec<String>;

/// What makes a rescue necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RescueScope {
    /// Unsaved work.
    Unsaved,
    /// Unsaved work, or the commits of the branch that is checked out, which is not the task's.
    Branch,
}

impl Worktree<'_> {
    /// Saves unsaved work under `refs/orange/rescue/<task>/<n>`; `None` when everything is saved.
    ///
    /// Unsaved means: uncommitted, staged or untracked changes, an operation in progress, and a
    /// commit that only HEAD contains. What the task's newest rescue already has is not saved
    /// twice. Ignored files are not saved, and nested repositories cannot be: a caller that removes
    /// anything must check [`Worktree::condition`] first, as [`super::Git::release`] does.
    pub fn rescue(&self, task: &TaskId) -> Result<Option<Rescue>, GitError> {
        self.rescue_from(task, self.status()?, None, RescueScope::Unsaved)
    }

    /// Like [`Worktree::rescue`], starting from a status that was just read. `earlier` is what the
    /// same release has saved before.
    pub(super) fn rescue_from(
        &self,
        task: &TaskId,
        mut status: WorktreeStatus,
        earlier: Option<&Rescue>,
        scope: RescueScope,
    ) -> Result<Option<Rescue>, GitError> {
        task_part(task)?;
        for _round in 0..ROUNDS {
            if scope == RescueScope::Unsaved && !self.is_unsaved(&status)? {
                return Ok(None);
            }
            let found = self.on_disk(&status.paths(), HashMode::Write)?;
            let unsavable = |(path, found): (&PathBuf, &DiskEntry)| {
                (*found == DiskEntry::Other).then(|| path.clone())
            };
            if let Some(path) = found.iter().find_map(unsavable) {
                return Err(GitError::NotSaved {
                    reference: self.path().display().to_string(),
                    reason: format!("`{}` is not a regular file", path.display()),
                });
            }
            let about = RescueOrigin {
                task: task.clone(),
                branch: status
                    .head
                    .branch()
                    .cloned()
                    .or_else(|| Operation::branch_in(self.directory()))
                    // The release has already detached HEAD.
                    .or_else(|| earlier?.about.branch.clone()),
                head: status.head.commit().cloned(),
                operations: status.operations.clone(),
                earlier: earlier.map(|it| it.commit.clone()),
            };
            let (commit, parents) = self.commit_of(&status, &found, &about)?;
            let second_status = self.status()?;
            if self.is_complete(&status, &second_status, &found, &commit)? {
                let rescued = Rescue::new(commit, about, parents);
                return self.git().create_rescue_ref(rescued).map(Some);
            }
            status = second_status;
        }
        Err(GitError::FilesChanging(self.path().to_owned()))
    }

    /// Whether anything exists only in this worktree.
    pub(super) fn is_unsaved(&self, status: &WorktreeStatus) -> Result<bool, GitError> {
        let is_unsaved = !status.changes.is_empty() || !status.operations.is_empty();
        Ok(is_unsaved || self.is_unreachable(&status.head)?)
    }

    fn commit_of(
        &self,
        status: &WorktreeStatus,
        found: &BTreeMap<PathBuf, DiskEntry>,
        about: &RescueOrigin,
    ) -> Result<(CommitId, Parents), GitError> {
        let scratch = self.scratch()?;
        let unmerged = status
            .changes
            .iter()
            .filter(|(_, change)| change.is_unmerged);
        let unmerged: Vec<&Path> = unmerged.map(|(path, _)| path.as_path()).collect();
        self.update_index_entries(&scratch, unmerged.iter().map(|path| (*path, None)))?;
        let index = self.call_on(&scratch, ["write-tree"]).text()?;
        let files = found.iter().map(|(path, found)| match found {
            DiskEntry::Entry(entry) => (path.as_path(), Some(entry)),
            _ => (path.as_path(), None),
        });
        self.update_index_entries(&scratch, files)?;
        let tree = self.call_on(&scratch, ["write-tree"]).text()?;

        let head: Parents = about.head.iter().map(ToString::to_string).collect();
        let index = self.commit_tree(&index, &head, "orange: the index")?;
        let mut parents = head;
        parents.push(index);
        if !status.operations.is_empty() || !unmerged.is_empty() {
            parents.push(self.commit_state(status, &scratch)?);
        }
        let _left_for_later = fs::remove_file(&scratch);
        let commit = self.commit_tree(&tree, &parents, &about.message()?)?;
        Ok((CommitId::new(commit), parents))
    }

    /// Commits the files of operations in progress and the stages of unresolved paths; commits that
    /// these files name become parents, so that git keeps those commits.
    fn commit_state(&self, status: &WorktreeStatus, scratch: &Path) -> Result<String, GitError> {
        let names = Operation::state_in(self.directory());
        let files: Vec<PathBuf> = names
            .iter()
            .map(|name| self.directory().join(name))
            .collect();
        let mut entries: BTreeMap<PathBuf, Entry> = BTreeMap::new();
        let ids = self.write_files(&files)?;
        for (name, id) in names.iter().zip(ids) {
            entries.insert(Path::new(STATE).join(name), Entry { mode: FILE, id });
        }
        for indexed in status.index.iter().filter(|it| it.stage != 0) {
            let stage = Path::new(STAGES).join(indexed.stage.to_string());
            entries.insert(stage.join(&indexed.path), indexed.entry.clone());
        }
        let parents = self.commits_named_in(&files)?;
        let _absent = fs::remove_file(scratch);
        let entries = entries
            .iter()
            .map(|(path, entry)| (path.as_path(), Some(entry)));
        self.update_index_entries(scratch, entries)?;
        let tree = self.call_on(scratch, ["write-tree"]).text()?;
        self.commit_tree(&tree, &parents, "orange: what was in progress")
    }

    /// The commits that these git files name by id, and those that a bisect marked.
    fn commits_named_in(&self, files: &[PathBuf]) -> Result<Parents, GitError> {
        let mut words = BTreeSet::new();
        for file in files {
            let bytes = fs::read(file).map_err(GitError::system("read", file))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let is_id = |word: &&str| {
                matches!(word.len(), 40 | 64) && word.bytes().all(|it| it.is_ascii_hexdigit())
            };
            words.extend(text.split_whitespace().filter(is_id).map(str::to_owned));
        }
        let marked = self.call(["for-each-ref", "--format=%(objectname)", "refs/bisect"]);
        words.extend(marked.text()?.lines().map(str::to_owned));
        let kinds = self.kinds(&words)?;
        let commits = kinds.into_iter().filter(|(_, kind)| kind == "commit");
        Ok(commits.map(|(id, _)| id).collect())
    }

    /// The kinds of the objects with these ids; `missing` for one that does not exist.
    fn kinds(&self, ids: &BTreeSet<String>) -> Result<Vec<(String, String)>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut input: Vec<u8> = Vec::new();
        for id in ids {
            input.extend_from_slice(id.as_bytes());
            input.push(b'\n');
        }
        let call = self.call(["cat-file", "--batch-check"]).input(input);
        let text = call.text()?;
        let kind = |line: &str| line.split(' ').nth(1).map(str::to_owned);
        let kinds: Vec<String> = text.lines().filter_map(kind).collect();
        if kinds.len() != ids.len() {
            return Err(call.malformed_output(text.as_bytes()));
        }
        Ok(ids.iter().cloned().zip(kinds).collect())
    }

    /// Whether a second reading finds the same as the first, and all of it is in the commit.
    fn is_complete(
        &self,
        first: &WorktreeStatus,
        second: &WorktreeStatus,
        found: &BTreeMap<PathBuf, DiskEntry>,
        commit: &CommitId,
    ) -> Result<bool, GitError> {
        let is_same = second.changes == first.changes
            && second.index == first.index
            && second.head == first.head
            && second.operations == first.operations;
        if !is_same || self.on_disk(&second.paths(), HashMode::Hash)? != *found {
            return Ok(false);
        }
        let tree = self.git().tree(commit.as_str())?;
        let mut ids = BTreeSet::new();
        for (path, found) in found {
            let saved = tree.get(path);
            let is_saved = match found {
                DiskEntry::Entry(entry) => saved == Some(entry),
                _ => saved.is_none(),
            };
            if !is_saved {
                return Err(not_saved(
                    commit,
                    format!("`{}` is not in it", path.display()),
                ));
            }
            ids.extend(saved.map(|entry| entry.id.clone()));
        }
        let missing = self
            .kinds(&ids)?
            .into_iter()
            .find(|(_, kind)| kind != "blob");
        match missing {
            Some((id, _)) => Err(not_saved(commit, format!("`{id}` is missing"))),
            None => Ok(true),
        }
    }

    /// Sets or removes entries of `index`, which is not the worktree's own index.
    fn update_index_entries<'p>(
        &self,
        index: &Path,
        entries: impl Iterator<Item = (&'p Path, Option<&'p Entry>)>,
    ) -> Result<(), GitError> {
        let nothing = self.git().null_id();
        let mut input = Vec::new();
        for (path, entry) in entries {
            let line = match entry {
                Some(entry) => format!("{:06o} {} 0\t", entry.mode, entry.id),
                None => format!("0 {nothing} 0\t"),
            };
            input.extend_from_slice(line.as_bytes());
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        if input.is_empty() {
            return Ok(());
        }
        let call = self.call_on(index, ["update-index", "-z", "--index-info"]);
        call.input(input).succeed()
    }

    fn commit_tree(
        &self,
        tree: &str,
        parents: &[String],
        message: &str,
    ) -> Result<String, GitError> {
        let mut call = self.call(["commit-tree", tree]);
        let mut seen = BTreeSet::new();
        for parent in parents.iter().filter(|parent| seen.insert(parent.as_str())) {
            call = call.with_arguments(["-p", parent]);
        }
        call.input(message).text()
    }
}

fn not_saved(commit: &CommitId, reason: String) -> GitError {
    GitError::NotSaved {
        reference: commit.to_string(),
        reason,
    }
}
