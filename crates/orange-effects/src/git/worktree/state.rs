//! A hash over everything in a worktree.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use sha2::{Digest as _, Sha256};

use super::disk::{DiskEntry, HashMode};
use crate::git::{GitError, Worktree};

impl Worktree<'_> {
    /// A hash that changes whenever HEAD, the index or a file changes; ignored files do not count.
    pub fn state_hash(&self) -> Result<String, GitError> {
        let status = self.status()?;
        let found = self.on_disk(&status.paths(), HashMode::Hash)?;
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        };
        add(format!("{:?}", status.head).as_bytes());
        for indexed in &status.index {
            add(indexed.path.as_os_str().as_bytes());
            add(&[indexed.stage]);
            add(indexed.entry.id.as_bytes());
        }
        for (path, found) in &found {
            add(path.as_os_str().as_bytes());
            let content = match found {
                DiskEntry::Entry(entry) => format!("{:o} {}", entry.mode, entry.id),
                DiskEntry::Absent => String::from("absent"),
                DiskEntry::Folder => String::from("folder"),
                DiskEntry::Other => String::from("other"),
            };
            add(content.as_bytes());
        }
        let mut digits = String::new();
        for byte in hash.finalize() {
            let _never_fails = write!(digits, "{byte:02x}");
        }
        Ok(digits)
    }
}
