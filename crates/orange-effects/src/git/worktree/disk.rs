//! The files of a worktree, by their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::entry::{Entry, LINK};
use crate::git::repository::call::{Call, quote_path};
use crate::git::{GitError, Worktree};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// How often files are read if they change meanwhile.
const MAX_READS: usize = 3;

/// What is on disk at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiskEntry {
    Absent,
    Entry(Entry),
    Folder,
    Other,
}

/// Whether contents are also written to the repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HashMode {
    Hash,
    Write,
}

impl Worktree<'_> {
    /// What is on disk at these paths, byte for byte: no filter applies.
    pub(crate) fn on_disk(
        &self,
        paths: &BTreeSet<PathBuf>,
        hash_mode: HashMode,
    ) -> Result<BTreeMap<PathBuf, DiskEntry>, GitError> {
        let place = self.place()?;
        let mut reads = 1;
        loop {
            match self.read_entries(&place, paths, hash_mode) {
                // A file may just have vanished, which is no error, so read again.
                Err(_) if reads < MAX_READS => reads += 1,
                found => return found,
            }
        }
    }

    fn read_entries(
        &self,
        place: &SafeDirectory,
        paths: &BTreeSet<PathBuf>,
        hash_mode: HashMode,
    ) -> Result<BTreeMap<PathBuf, DiskEntry>, GitError> {
        let mut found = BTreeMap::new();
        let mut files = Vec::new();
        for path in paths {
            let kind = place.kind(path).map_err(self.file_error("inspect", path))?;
            let entry = match kind {
                EntryKind::Absent => DiskEntry::Absent,
                EntryKind::Folder => DiskEntry::Folder,
                EntryKind::Other => DiskEntry::Other,
                EntryKind::Entry(LINK) => {
                    let target = place.read_link(path);
                    let target = target.map_err(self.file_error("read the link", path))?;
                    let call = self
                        .call(hash_command(&["hash-object", "--stdin"], hash_mode))
                        .input(target);
                    let id = call.text()?;
                    DiskEntry::Entry(Entry { mode: LINK, id })
                }
                EntryKind::Entry(mode) => {
                    files.push((path, mode));
                    continue;
                }
            };
            found.insert(path.clone(), entry);
        }
        let words = ["hash-object", "--no-filters", "--stdin-paths"];
        let call = self.call(hash_command(&words, hash_mode));
        let ids = hashes(call, files.iter().map(|(path, _)| path.as_path()))?;
        for ((path, mode), id) in files.into_iter().zip(ids) {
            found.insert(path.clone(), DiskEntry::Entry(Entry { mode, id }));
        }
        Ok(found)
    }

    /// The hashes that `git add` would give these files: filters are applied and line endings
    /// normalized. The attributes are the worktree's, or those of a commit.
    pub(crate) fn hash_as_added(
        &self,
        files: &[&Path],
        attributes_of: Option<&str>,
    ) -> Result<Vec<String>, GitError> {
        let words = ["hash-object", "--stdin-paths"];
        let call = match attributes_of {
            None => self.call(words),
            Some(commit) => self.call_as_of(commit, words),
        };
        hashes(call, files.iter().copied())
    }

    /// Writes files from anywhere into the repository.
    pub(crate) fn write_files(&self, files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let call = self.call(["hash-object", "-w", "--no-filters", "--stdin-paths"]);
        hashes(call, files.iter().map(PathBuf::as_path))
    }
}

fn hash_command<'a>(words: &[&'a str], hash_mode: HashMode) -> Vec<&'a str> {
    let mut words = words.to_vec();
    if hash_mode == HashMode::Write {
        words.push("-w");
    }
    words
}

fn hashes<'a>(call: Call, files: impl Iterator<Item = &'a Path>) -> Result<Vec<String>, GitError> {
    let mut count = 0;
    let mut input = Vec::new();
    for file in files {
        input.extend(quote_path(file));
        count += 1;
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let call = call.input(input).with_long_timeout();
    let text = call.text()?;
    let ids: Vec<String> = text.lines().map(str::to_owned).collect();
    if ids.len() == count {
        Ok(ids)
    } else {
        Err(call.malformed_output(text.as_bytes()))
    }
}
