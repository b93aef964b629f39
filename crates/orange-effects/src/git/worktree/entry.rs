//! What a commit, the index or the disk has at a path.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orange_engine::names::CommitId;

use crate::git::repository::call::{Call, path, split_zero_terminated};
use crate::git::{Git, GitError};

pub(crate) use crate::safe_directory::{EXECUTABLE, FILE, LINK};

/// A nested repository, of which only the commit is known.
pub(crate) const GITLINK: u32 = 0o160_000;

/// Mode and content, the content by its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub mode: u32,
    pub id: String,
}

/// Every path of a commit.
pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// A path of the index, in one of its stages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexEntry {
    pub path: PathBuf,
    pub entry: Entry,
    /// 0, or 1 to 3 while a merge is not resolved.
    pub stage: u8,
    /// Whether git was told to assume that the file is unchanged (assume-unchanged).
    pub is_hidden: bool,
    /// Whether the file is not expected on disk (skip-worktree).
    pub is_skipped: bool,
}

/// A file, a link or a submodule of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedEntry {
    pub path: PathBuf,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Its git object.
    pub object: String,
}

impl Git {
    /// The paths of all files of a commit, ordered.
    pub fn files_of(&self, commit: &CommitId) -> Result<Vec<PathBuf>, GitError> {
        let tree = self.tree(commit.as_str())?;
        Ok(tree.into_keys().collect())
    }

    /// Everything below a folder of a commit, ordered; folders are not listed themselves.
    pub fn entries_below(
        &self,
        commit: &CommitId,
        folder: &str,
    ) -> Result<Vec<CommittedEntry>, GitError> {
        let call = self.call(["ls-tree", "-r", "-z", "--full-tree", commit.as_str()]);
        let tree = parse_tree(&call.with_arguments(["--", folder]))?;
        let entries = tree.into_iter().map(|(path, entry)| CommittedEntry {
            path,
            is_file: entry.mode & !0o777 == 0o100_000,
            object: entry.id,
        });
        Ok(entries.collect())
    }

    /// Every path of a commit or tree.
    pub(crate) fn tree(&self, commit: &str) -> Result<Tree, GitError> {
        parse_tree(&self.call(["ls-tree", "-r", "-z", "--full-tree", commit]))
    }
}

fn parse_tree(call: &Call) -> Result<Tree, GitError> {
    let bytes = call.bytes()?;
    let mut tree = Tree::new();
    for part in split_zero_terminated(&bytes) {
        let ([mode, _kind, id], path) = split(call, part)?;
        tree.insert(path, entry(call, mode, id)?);
    }
    Ok(tree)
}

/// Reads `git ls-files -z --stage -v`.
pub(crate) fn parse_index(call: &Call) -> Result<Vec<IndexEntry>, GitError> {
    let bytes = call.bytes()?;
    let mut index = Vec::new();
    for part in split_zero_terminated(&bytes) {
        let ([tag, mode, id, stage], path) = split(call, part)?;
        index.push(IndexEntry {
            path,
            entry: entry(call, mode, id)?,
            stage: stage.parse().map_err(|_| call.malformed_output(part))?,
            is_hidden: tag.starts_with(|it: char| it.is_ascii_lowercase()),
            is_skipped: tag.eq_ignore_ascii_case("s"),
        });
    }
    Ok(index)
}

/// Splits `fields<TAB>path`. A listing may have a hundred thousand of them.
fn split<'a, const N: usize>(
    call: &Call,
    part: &'a [u8],
) -> Result<([&'a str; N], PathBuf), GitError> {
    let garbled = || call.malformed_output(part);
    let tab = part.iter().position(|byte| *byte == b'\t');
    let (fields, rest) = part
        .split_at_checked(tab.ok_or_else(garbled)?)
        .ok_or_else(garbled)?;
    let fields = std::str::from_utf8(fields).map_err(|_| garbled())?;
    let name = rest.get(1..).filter(|name| !name.is_empty());
    let mut words = fields.split(' ');
    let mut found = [""; N];
    for word in &mut found {
        *word = words.next().ok_or_else(garbled)?;
    }
    if words.next().is_some() {
        return Err(garbled());
    }
    Ok((found, path(name.ok_or_else(garbled)?)))
}

fn entry(call: &Call, mode: &str, id: &str) -> Result<Entry, GitError> {
    let mode = u32::from_str_radix(mode, 8).map_err(|_| call.malformed_output(mode.as_bytes()))?;
    // Old repositories record files as group-writable; we never give a file on disk that mode.
    let mode = match mode {
        0o100_664 => FILE,
        mode => mode,
    };
    Ok(Entry {
        mode,
        id: id.to_owned(),
    })
}
