//! The changes of a branch since it forked from the default branch.
//!
//! Objects are compared without attributes, so that the author of a branch cannot control how, or
//! whether, its changes are shown. Committed and uncommitted changes are two parts: a merge takes
//! only the committed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId};

use crate::git::repository::call::{Call, join_zero_terminated, path, split_zero_terminated};
use crate::git::worktree::status::WorktreeStatus;
use crate::git::{Git, GitError, Worktree};
use crate::safe_directory::EntryKind;

/// How many uncommitted new files are shown.
pub(super) const NEW_SHOWN: usize = 1000;

/// The largest uncommitted new file that is shown, in bytes.
pub(super) const NEW_LARGEST: u64 = 8 * 1024 * 1024;

/// Which diff to make.
#[derive(Clone, Copy, Debug)]
pub struct DiffRequest<'a> {
    /// The task's branch.
    pub branch: &'a BranchName,
    pub default: &'a BranchName,
    /// The commit at which the branch started, if that is not in the default branch.
    pub start: Option<&'a CommitId>,
    /// The commits of the default branch and of the task's branch at the last merge.
    pub merged: Option<(&'a CommitId, &'a CommitId)>,
    /// Whether to show only the diffstat.
    pub stat: bool,
    /// Whether to use terminal colours.
    pub colour: bool,
}

/// A diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchDiff {
    /// Where the branch forked from the default branch.
    pub base: CommitId,
    pub head: CommitId,
    /// How many commits the branch has since then.
    pub commits: u64,
    /// The changes in those commits.
    pub committed: DiffPart,
    /// Uncommitted changes; `None` when there are none.
    pub uncommitted: Option<DiffPart>,
}

/// One part of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPart {
    /// The files, ordered by path.
    pub files: Vec<FileDiff>,
    /// The diff as git prints it.
    pub text: Vec<u8>,
    /// What exists but is not shown: new files that are large or too many, repositories, pipes.
    pub omitted: Vec<PathBuf>,
    /// Files that may look changed only because their filter is not run, each with the filter's
    /// name.
    pub unfiltered: BTreeMap<PathBuf, String>,
}

/// The size of a file's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    pub path: PathBuf,
    /// Added lines; `None` for a binary file.
    pub added: Option<u64>,
    /// Removed lines; `None` for a binary file.
    pub removed: Option<u64>,
}

/// With these options no program from a configuration runs, and no preference changes output that
/// is parsed.
const PLAIN: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--find-renames",
];

impl Git {
    /// The changes in the branch's commits.
    pub fn diff(&self, request: &DiffRequest<'_>) -> Result<BranchDiff, GitError> {
        let tip = self.branch(request.branch)?;
        // If the branch was deleted after it was merged, its last merged commit is shown.
        let merged = || request.merged.map(|(_, head)| head.clone());
        let head = tip.or_else(merged).ok_or_else(|| GitError::NoCommit {
            branch: request.branch.to_string(),
        })?;
        self.committed(request, head)
    }

    fn committed(&self, request: &DiffRequest<'_>, head: CommitId) -> Result<BranchDiff, GitError> {
        let base = self.fork_point(request, &head)?;
        let range = [base.to_string(), head.to_string()];
        let diff_call = |options: &[&str]| {
            self.call(PLAIN)
                .with_long_timeout()
                .with_arguments(options)
                .with_arguments(&range)
        };
        Ok(BranchDiff {
            commits: self.count(&base, &head)?,
            committed: part(request, &diff_call)?,
            uncommitted: None,
            base,
            head,
        })
    }

    /// The number of commits in a range.
    pub(crate) fn count(&self, base: &CommitId, head: &CommitId) -> Result<u64, GitError> {
        if base == head {
            return Ok(0);
        }
        let range = format!("{base}..{head}");
        let call = self.call(["rev-list", "--count", &range]);
        let output = call.text()?;
        output
            .parse()
            .map_err(|_| call.malformed_output(output.as_bytes()))
    }

    /// The commit at which a branch forked from the default branch. Once the default branch
    /// contains the whole branch, only the record of the merge names that commit.
    pub(crate) fn fork_point(
        &self,
        request: &DiffRequest<'_>,
        head: &CommitId,
    ) -> Result<CommitId, GitError> {
        let tips = self.tips(request.default)?;
        let default = tips.base.commit;
        let mut found = self.merge_base(&default, head)?;
        if tips.base.is_diverged
            && let Some(local) = &tips.local
            && let Some(forked) = self.merge_base(local, head)?
        {
            // Work that started from the local branch forked after the remote's branch did.
            found = match found {
                Some(earlier) if !self.contains(&forked, &earlier)? => Some(earlier),
                _ => Some(forked),
            };
        }
        // The work of its parent is not its own, until the default branch contains that work.
        if let Some(start) = request.start
            && self.has_commit(start)?
            && self.contains(head, start)?
            && !self.contains(&default, start)?
        {
            return Ok(start.clone());
        }
        match request.merged {
            Some((base, _)) if found.as_ref() == Some(head) => {
                Ok(self.merge_base(base, head)?.unwrap_or_else(|| base.clone()))
            }
            _ => Ok(found.unwrap_or(default)),
        }
    }

    pub(crate) fn merge_base(
        &self,
        one: &CommitId,
        other: &CommitId,
    ) -> Result<Option<CommitId>, GitError> {
        if one == other {
            return Ok(Some(one.clone()));
        }
        let call = self.call(["merge-base", one.as_str(), other.as_str()]);
        let found = call.answer()?;
        let found = found.map(|found| String::from_utf8_lossy(&found).trim().to_owned());
        Ok(found.map(CommitId::new))
    }
}

impl Worktree<'_> {
    /// The changes in the branch's commits, and separately the uncommitted work, including new
    /// files.
    pub fn diff(&self, request: &DiffRequest<'_>) -> Result<BranchDiff, GitError> {
        let status = self.status()?;
        let head = status.head.commit().ok_or_else(|| GitError::NoCommit {
            branch: request.branch.to_string(),
        })?;
        let mut diff = self.git().committed(request, head.clone())?;
        if !status.is_clean() {
            let folder = self.git().own.scratch()?;
            let uncommitted = self.uncommitted(request, &status, head, &folder);
            let _left_for_later = fs::remove_dir_all(&folder);
            diff.uncommitted = Some(uncommitted?);
        }
        Ok(diff)
    }

    /// Compares the files with HEAD through a temporary index and temporary objects.
    fn uncommitted(
        &self,
        request: &DiffRequest<'_>,
        status: &WorktreeStatus,
        head: &CommitId,
        folder: &Path,
    ) -> Result<DiffPart, GitError> {
        let (shown, omitted) = self.select_paths(status)?;
        let index = folder.join("index");
        self.copy_index_to(&index)?;
        self.unhide_files(&index, status)?;
        let objects = folder.join("objects");
        fs::create_dir(&objects).map_err(GitError::system("create", &objects))?;
        // Quoted, because a colon would end the path.
        let mut repository_objects =
            crate::git::repository::call::quote_path(&self.git().own.path().join("objects"));
        repository_objects.pop();
        let repository_objects = std::ffi::OsStr::from_bytes(&repository_objects);
        let call = |words: &[&str]| {
            let call = self.call_on(&index, words).with_long_timeout();
            let call = call.variable("GIT_OBJECT_DIRECTORY", &objects);
            call.variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository_objects)
        };
        let temporary_options = ["-c", "core.fsync=none", "-c", "core.looseCompression=0"];
        let update = ["update-index", "--add", "--remove", "--replace", "-z"];
        let update = call(&temporary_options)
            .with_arguments(update)
            .with_arguments(["--stdin"]);
        update.input(join_zero_terminated(shown)).succeed()?;
        let diff_call = |options: &[&str]| {
            let call = call(&PLAIN).with_arguments(options).with_arguments([
                "--cached",
                head.as_str(),
                "--",
            ]);
            call.variable("GIT_ATTR_SOURCE", self.git().no_attributes())
        };
        let mut part = part(request, &diff_call)?;
        part.omitted = omitted;
        part.unfiltered = self.unfiltered_changes(status)?;
        Ok(part)
    }

    /// The paths to compare, and those that are not shown.
    fn select_paths<'l>(
        &self,
        status: &'l WorktreeStatus,
    ) -> Result<(Vec<&'l Path>, Vec<PathBuf>), GitError> {
        let tracked: BTreeSet<&Path> = status.index.iter().map(|it| it.path.as_path()).collect();
        let place = self.place()?;
        let mut shown: Vec<&Path> = status
            .moved_submodules
            .iter()
            .map(PathBuf::as_path)
            .collect();
        let mut omitted = status.repositories.clone();
        let mut new_files = 0;
        for path in status.changes.keys() {
            let kind = place.kind(path).map_err(self.file_error("inspect", path))?;
            let is_new = !tracked.contains(path.as_path()) && kind != EntryKind::Absent;
            let is_large = || {
                let found = fs::symlink_metadata(self.path().join(path));
                found.is_ok_and(|found| found.len() > NEW_LARGEST)
            };
            new_files += usize::from(is_new);
            if kind == EntryKind::Other || is_new && (new_files > NEW_SHOWN || is_large()) {
                omitted.push(path.clone());
            } else {
                shown.push(path);
            }
        }
        Ok((shown, omitted))
    }
}

fn part(
    request: &DiffRequest<'_>,
    diff_call: &impl Fn(&[&str]) -> Call,
) -> Result<DiffPart, GitError> {
    Ok(DiffPart {
        files: files(diff_call)?,
        text: text(request, diff_call)?,
        omitted: Vec::new(),
        unfiltered: BTreeMap::new(),
    })
}

fn text(
    request: &DiffRequest<'_>,
    diff_call: &impl Fn(&[&str]) -> Call,
) -> Result<Vec<u8>, GitError> {
    let colour = if request.colour {
        "--color=always"
    } else {
        "--color=never"
    };
    let shape = if request.stat { "--stat" } else { "--patch" };
    // For a binary file, only the ids of its contents show the change. Programs get full ids, users
    // short ones.
    let ids: &[&str] = if request.colour {
        &[]
    } else {
        &["--full-index"]
    };
    diff_call(&[&[colour, shape], ids].concat()).bytes()
}

fn files(diff_call: &impl Fn(&[&str]) -> Call) -> Result<Vec<FileDiff>, GitError> {
    let call = diff_call(&["--numstat", "-z", "--no-renames"]);
    let bytes = call.bytes()?;
    let mut files = Vec::new();
    for part in split_zero_terminated(&bytes) {
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(name)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(call.malformed_output(part));
        };
        let count = |field: &[u8]| String::from_utf8_lossy(field).parse().ok();
        files.push(FileDiff {
            path: path(name),
            added: count(added),
            removed: count(removed),
        });
    }
    Ok(files)
}
