//! Reads a worktree once: HEAD, index, and all unsaved work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use orange_engine::names::{BranchName, CommitId};

use super::entry::{EXECUTABLE, FILE, GITLINK, IndexEntry, LINK, parse_index};
use crate::git::repository::call::{Call, path, split_zero_terminated};
use crate::git::{GitError, Operation, Worktree};
use crate::safe_directory::EntryKind;

/// Where files are moved before removal, below the root: a move must stay on one file system.
pub(crate) const HELD_FOLDER: &str = ".orange-held";

/// The command that lists everything that differs from HEAD.
const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignored=no",
    "--no-renames",
    // git would read a submodule's content with the configuration of that submodule.
    "--ignore-submodules=dirty",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// On a branch, which may have no commit yet.
    Branch {
        name: BranchName,
        commit: Option<CommitId>,
    },
    /// On a commit without a branch.
    Detached(CommitId),
}

impl Head {
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Head::Branch { commit, .. } => commit.as_ref(),
            Head::Detached(commit) => Some(commit),
        }
    }

    /// The branch, if it is on one.
    pub fn branch(&self) -> Option<&BranchName> {
        match self {
            Head::Branch { name, .. } => Some(name),
            Head::Detached(_) => None,
        }
    }
}

/// How a path differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The index differs from HEAD.
    pub is_staged: bool,
    /// The disk differs from the index, or the index does not know the file.
    pub is_on_disk: bool,
    /// A merge left the path unresolved.
    pub is_unmerged: bool,
}

/// The state of a worktree, read once.
#[derive(Clone, Debug)]
pub(crate) struct WorktreeStatus {
    pub head: Head,
    pub index: Vec<IndexEntry>,
    /// Files that differ from HEAD; ignored ones do not count.
    pub changes: BTreeMap<PathBuf, Change>,
    /// Nested repositories that the index does not know.
    pub repositories: Vec<PathBuf>,
    /// Submodules whose commit differs from the recorded one.
    pub moved_submodules: Vec<PathBuf>,
    pub operations: Vec<Operation>,
}

impl WorktreeStatus {
    /// Whether every file except ignored ones is as in HEAD.
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.repositories.is_empty() && self.moved_submodules.is_empty()
    }

    /// Whether HEAD is detached at this commit, and everything is as in that commit.
    pub fn is_at(&self, commit: &CommitId) -> bool {
        self.is_clean() && self.operations.is_empty() && self.head == Head::Detached(commit.clone())
    }

    /// The paths that differ.
    pub fn paths(&self) -> BTreeSet<PathBuf> {
        self.changes.keys().cloned().collect()
    }

    /// Whether the index has a file of this name at the root.
    pub fn has(&self, file: &str) -> bool {
        self.index.iter().any(|it| it.path.as_os_str() == file)
    }

    /// The submodules that the index knows.
    pub fn submodules(&self) -> impl Iterator<Item = &IndexEntry> {
        let index = self.index.iter();
        index.filter(|it| it.entry.mode == GITLINK && it.stage == 0)
    }
}

impl Worktree<'_> {
    pub fn head(&self) -> Result<Head, GitError> {
        let call = self.call(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
        let output = call.text();
        if let Ok(text) = &output {
            let (commit, name) = text
                .split_once('\n')
                .ok_or_else(|| call.malformed_output(text.as_bytes()))?;
            let commit = CommitId::new(commit);
            return Ok(match name.strip_prefix("refs/heads/") {
                Some(name) => Head::Branch {
                    name: BranchName::new(name),
                    commit: Some(commit),
                },
                None => Head::Detached(commit),
            });
        }
        // `rev-parse` fails for a branch without a commit, but also for other reasons, so check
        // that the branch has none.
        let symbolic_ref = self.call(["symbolic-ref", "HEAD"]);
        let full = symbolic_ref.text()?;
        let existing = self
            .call(["show-ref", "--verify", "--quiet", &full])
            .answer()?;
        match (full.strip_prefix("refs/heads/"), output) {
            (Some(name), Err(_)) if existing.is_none() => Ok(Head::Branch {
                name: BranchName::new(name),
                commit: None,
            }),
            (_, Err(error)) => Err(error),
            (_, Ok(_)) => Err(symbolic_ref.malformed_output(full.as_bytes())),
        }
    }

    /// HEAD after it was put on a branch at a commit; runs git only if the file HEAD does not name
    /// the branch.
    pub(crate) fn head_at(
        &self,
        reference: &str,
        branch: &BranchName,
        commit: &CommitId,
    ) -> Result<Head, GitError> {
        let text = fs::read(self.directory().join("HEAD")).unwrap_or_default();
        if text.trim_ascii_end() != format!("ref: {reference}").as_bytes() {
            return self.head();
        }
        Ok(Head::Branch {
            name: branch.clone(),
            commit: Some(commit.clone()),
        })
    }

    /// Whether a detached HEAD is still at the same commit; `false` when in doubt.
    pub(crate) fn is_head(&self, head: &Head) -> bool {
        match (self.git().head_in_file(self.directory()), head) {
            (Some((None, Some(now))), Head::Detached(then)) => now == *then,
            _ => false,
        }
    }

    pub(crate) fn index(&self) -> Result<Vec<IndexEntry>, GitError> {
        parse_index(&self.call(["ls-files", "-z", "--stage", "-v"]))
    }

    /// Reads everything; writes nothing, not even the index.
    pub(crate) fn status(&self) -> Result<WorktreeStatus, GitError> {
        self.status_with(|words| self.call(words))
    }

    /// Like [`Worktree::status`], for a worktree that is not in use: git may record in the index
    /// which files are unchanged, so that it need not read them again.
    pub(crate) fn status_of_unused(&self) -> Result<WorktreeStatus, GitError> {
        self.status_with(|words| self.call_updating_index(words))
    }

    fn status_with(&self, make_call: impl Fn(&[&str]) -> Call) -> Result<WorktreeStatus, GitError> {
        self.require_files()?;
        let call = make_call(STATUS);
        let (index, output) = thread::scope(|scope| {
            let index = scope.spawn(|| self.index());
            let output = call.bytes();
            (index.join(), output)
        });
        let index = index.map_err(|_| GitError::FilesChanging(self.path().to_owned()))?;
        let mut status = WorktreeStatus {
            // Read below.
            head: Head::Detached(CommitId::new("")),
            index: index?,
            changes: BTreeMap::new(),
            repositories: Vec::new(),
            moved_submodules: Vec::new(),
            operations: Operation::found_in(self.directory()),
        };
        let output = output.map_err(|error| self.explain_block(error))?;
        self.read_status(&mut status, &call, &output)?;
        self.find_hidden(&mut status)?;
        self.find_held(&mut status)?;
        Ok(status)
    }

    fn read_status(
        &self,
        status: &mut WorktreeStatus,
        call: &Call,
        bytes: &[u8],
    ) -> Result<(), GitError> {
        status.head = match head_in(bytes) {
            Some(head) => head,
            // git prints `(detached)` for a detached HEAD, but a branch may have that name too, so
            // check the file.
            None => match self.detached_in(bytes) {
                Some(commit) => Head::Detached(commit),
                None => self.head()?,
            },
        };
        for part in split_zero_terminated(bytes).filter(|part| !part.starts_with(b"#")) {
            let count = match part.first() {
                Some(b'?') => 2,
                Some(b'1') => 9,
                Some(b'u') => 11,
                _ => return Err(call.malformed_output(part)),
            };
            let fields: Vec<&[u8]> = part.splitn(count, |byte| *byte == b' ').collect();
            let name = fields.last().filter(|_| fields.len() == count);
            let name = *name.ok_or_else(|| call.malformed_output(part))?;
            let codes = fields.get(1).copied().unwrap_or_default();
            let is_submodule = fields.get(2).is_some_and(|field| field.starts_with(b"S"));
            if let Some(folder) = name.strip_suffix(b"/") {
                status.repositories.push(path(folder));
            } else if count == 2 {
                let change = status.changes.entry(path(name)).or_default();
                change.is_on_disk = true;
            } else if is_submodule {
                status.moved_submodules.push(path(name));
            } else {
                let is_unmerged = count == 11;
                let differs = |at: usize| codes.get(at).is_some_and(|code| *code != b'.');
                let change = status.changes.entry(path(name)).or_default();
                change.is_unmerged |= is_unmerged;
                change.is_staged |= is_unmerged || differs(0);
                change.is_on_disk |= is_unmerged || differs(1);
            }
        }
        Ok(())
    }

    /// The commit of a detached HEAD, if git's status and HEAD itself agree.
    fn detached_in(&self, status: &[u8]) -> Option<CommitId> {
        let mut lines =
            split_zero_terminated(status).filter_map(|part| part.strip_prefix(b"# branch.oid "));
        let output = std::str::from_utf8(lines.next()?).ok()?;
        let text = fs::read(self.directory().join("HEAD")).ok()?;
        (text.trim_ascii_end() == output.as_bytes()).then(|| CommitId::new(output))
    }

    /// Finds changes of files that git was told not to check (assume-unchanged, skip-worktree).
    fn find_hidden(&self, status: &mut WorktreeStatus) -> Result<(), GitError> {
        let place = self.place()?;
        let mut files = Vec::new();
        let mut changed = Vec::new();
        for indexed in status
            .index
            .iter()
            .filter(|it| it.is_hidden || it.is_skipped)
        {
            if indexed.entry.mode == GITLINK || indexed.stage != 0 {
                continue;
            }
            let path = &indexed.path;
            let kind = place.kind(path).map_err(self.file_error("inspect", path))?;
            match kind {
                EntryKind::Absent if indexed.is_skipped => {}
                EntryKind::Entry(mode) if mode == indexed.entry.mode && mode != LINK => {
                    files.push(indexed);
                }
                _ => changed.push(path.clone()),
            }
        }
        let paths: Vec<&Path> = files.iter().map(|it| it.path.as_path()).collect();
        let ids = self.hash_as_added(&paths, None)?;
        let differing = files.iter().zip(ids).filter(|(it, id)| it.entry.id != *id);
        changed.extend(differing.map(|(it, _)| it.path.clone()));
        for path in changed {
            status.changes.entry(path).or_default().is_on_disk = true;
        }
        Ok(())
    }

    /// Adds the files that were moved aside: they are unsaved work, even if a pattern ignores their
    /// directory.
    fn find_held(&self, status: &mut WorktreeStatus) -> Result<(), GitError> {
        let held_path = Path::new(HELD_FOLDER);
        let files = self.place()?.files(held_path);
        for file in files.map_err(self.file_error("list", held_path))? {
            status.changes.entry(file).or_default().is_on_disk = true;
        }
        Ok(())
    }

    /// Whether no branch, tag or rescue contains HEAD's commit.
    pub(crate) fn is_unreachable(&self, head: &Head) -> Result<bool, GitError> {
        let Head::Detached(commit) = head else {
            return Ok(false);
        };
        let listing = self.call(["rev-list", "--max-count=1", commit.as_str(), "--not"]);
        let listing = listing.with_arguments([
            "--branches",
            "--tags",
            "--remotes",
            "--glob=refs/orange/rescue",
        ]);
        Ok(!listing.bytes()?.is_empty())
    }
}

/// Whether a mode is that of a file or a link.
pub(crate) fn is_file(mode: u32) -> bool {
    matches!(mode, FILE | EXECUTABLE | LINK)
}

/// HEAD according to the header of `git status`, if that is certain.
fn head_in(status: &[u8]) -> Option<Head> {
    let line = |word: &str| {
        let mut lines =
            split_zero_terminated(status).filter_map(|part| part.strip_prefix(word.as_bytes()));
        lines.next().and_then(|rest| std::str::from_utf8(rest).ok())
    };
    let (commit, name) = (line("# branch.oid ")?, line("# branch.head ")?);
    let is_certain = !commit.starts_with('(') && !name.starts_with('(');
    is_certain.then(|| Head::Branch {
        name: BranchName::new(name),
        commit: Some(CommitId::new(commit)),
    })
}
