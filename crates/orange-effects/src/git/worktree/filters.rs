//! Files whose filter only the repository's own configuration defines.
//!
//! Agents can write that configuration, so such a filter is never run. Without it, a file may look
//! changed although it is committed. The functions here only name such files and their filters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::status::WorktreeStatus;
use crate::git::repository::call::{Call, join_zero_terminated, path, split_zero_terminated};
use crate::git::repository::own_directory::read_file;
use crate::git::{GitError, Worktree};

/// Upper bound on the size of a file with attributes.
const LIMIT: u64 = 4 * 1024 * 1024;

const CHECK: [&str; 4] = ["check-attr", "-z", "--stdin", "filter"];

/// The keys for the program that filters what git reads from disk; `process` is for both
/// directions.
const CLEAN: [&str; 2] = [".clean", ".process"];

/// The keys for the program that filters what git writes to disk.
const SMUDGE: [&str; 2] = [".smudge", ".process"];

/// Paths with the name of the filter that each needs.
pub(crate) type Filters = BTreeMap<PathBuf, String>;

impl Worktree<'_> {
    /// The filters that the files need and that are not run, by name.
    pub fn unread_filters(&self) -> Result<BTreeSet<String>, GitError> {
        let mut names = self.unread_names(CLEAN)?;
        names.extend(self.unread_names(SMUDGE)?);
        if names.is_empty() {
            return Ok(names);
        }
        let listing = self.call(["ls-files", "-z"]).bytes()?;
        let paths: Vec<PathBuf> = split_zero_terminated(&listing).map(path).collect();
        Ok(self.filters_of(&paths, &names)?.into_values().collect())
    }

    /// The files that differ from the index and that may look changed only because their filter is
    /// not run.
    pub(crate) fn unfiltered_changes(&self, status: &WorktreeStatus) -> Result<Filters, GitError> {
        if status.changes.is_empty() {
            return Ok(Filters::new());
        }
        let names = self.unread_names(CLEAN)?;
        if names.is_empty() {
            return Ok(Filters::new());
        }
        let tracked: BTreeSet<&Path> = status.index.iter().map(|it| it.path.as_path()).collect();
        let is_file = |file: &Path| {
            let found = fs::symlink_metadata(self.path().join(file));
            found.is_ok_and(|found| found.is_file())
        };
        let changes = status.changes.iter();
        let changes = changes.filter(|(_, it)| it.is_on_disk && !it.is_staged && !it.is_unmerged);
        let changes = changes.map(|(path, _)| path);
        let changes = changes.filter(|path| tracked.contains(path.as_path()) && is_file(path));
        let changes: Vec<PathBuf> = changes.cloned().collect();
        self.filters_of(&changes, &names)
    }

    /// Which of these files need a filter when git writes them from a commit to disk, although that
    /// filter is not run.
    pub(crate) fn unfiltered_files(
        &self,
        paths: &[PathBuf],
        commit: &str,
    ) -> Result<Filters, GitError> {
        let names = self.unread_names(SMUDGE)?;
        if names.is_empty() {
            return Ok(Filters::new());
        }
        read_filters(self.call_as_of(commit, CHECK), paths, &names)
    }

    /// The filters for which only the repository's configuration has one of these keys.
    fn unread_names(&self, keys: [&str; 2]) -> Result<BTreeSet<String>, GitError> {
        let configured = self.settings().names("filter", &keys);
        if configured.is_empty() {
            return Ok(configured);
        }
        let user_names = self.git().user_names("filter", &keys)?;
        Ok(configured.difference(&user_names).cloned().collect())
    }

    /// Which of these files need one of these filters, by the attributes of the worktree and those
    /// in `info/attributes`.
    fn filters_of(&self, paths: &[PathBuf], names: &BTreeSet<String>) -> Result<Filters, GitError> {
        let mut found = read_filters(self.call(CHECK), paths, names)?;
        let private = self.git().directory().join("info/attributes");
        let Ok(Some(bytes)) = read_file(&private, LIMIT) else {
            return Ok(found);
        };
        // A copy, because the file could be replaced by a pipe, which would block git.
        let folder = self.git().own.scratch()?;
        let copy = folder.join("attributes");
        fs::write(&copy, bytes).map_err(GitError::system("write", &copy))?;
        let setting = format!("core.attributesFile={}", copy.display());
        let call = self.call(["-c", &setting]).with_arguments(CHECK);
        let more = read_filters(call, paths, names);
        let _left_for_later = fs::remove_dir_all(&folder);
        for (path, filter) in more? {
            found.entry(path).or_insert(filter);
        }
        Ok(found)
    }
}

fn read_filters(
    call: Call,
    paths: &[PathBuf],
    names: &BTreeSet<String>,
) -> Result<Filters, GitError> {
    let call = call.input(join_zero_terminated(paths.iter().map(PathBuf::as_path)));
    let call = call.with_long_timeout();
    let bytes = call.bytes()?;
    let rows: Vec<&[u8]> = split_zero_terminated(&bytes).collect();
    let mut found = Filters::new();
    for row in rows.chunks(3) {
        let [file, _, value] = row else {
            return Err(call.malformed_output(&bytes));
        };
        let filter = String::from_utf8_lossy(value).into_owned();
        if names.contains(&filter) {
            found.insert(path(file), filter);
        }
    }
    Ok(found)
}
