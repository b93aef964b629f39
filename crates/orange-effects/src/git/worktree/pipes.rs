//! Detects pipes and devices where git expects files, which would block it.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::command::{CommandError, Ending};
use crate::git::{GitError, Worktree};
use crate::place::Kind;

/// Files that git reads on its own, anywhere in a worktree.
const READ: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Files that it reads in its own directory for a worktree.
const OWN: [&str; 3] = ["HEAD", "index", "info/sparse-checkout"];

impl Worktree<'_> {
    /// Refuses to run git where it would block, as far as that is quick to check: at the root, and
    /// in git's own directory.
    pub(crate) fn require_files(&self) -> Result<(), GitError> {
        let ours = READ.iter().map(|name| self.path().join(name));
        let gits = OWN.iter().map(|name| self.directory().join(name));
        match ours.chain(gits).find(|path| would_wait(path)) {
            Some(path) => Err(GitError::NoFile(path)),
            None => Ok(()),
        }
    }

    /// Names the file that a command blocked on, if it is one that git reads on its own.
    pub(crate) fn held_by(&self, error: GitError) -> GitError {
        let GitError::Command(CommandError::Failed {
            ending: Ending::TimedOut(_),
            ..
        }) = &error
        else {
            return error;
        };
        match self.waits_for() {
            Some(path) => GitError::NoFile(self.path().join(path)),
            None => error,
        }
    }

    fn waits_for(&self) -> Option<PathBuf> {
        let place = self.place().ok()?;
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for name in place.names(&folder).unwrap_or_default() {
                let path = folder.join(&name);
                match place.kind(&path) {
                    Ok(Kind::Other) if READ.iter().any(|it| name == *it) => return Some(path),
                    Ok(Kind::Folder) if name != ".git" => folders.push(path),
                    _ => {}
                }
            }
        }
        None
    }
}

/// Whether opening a path could block forever. git does not follow links to the files that it reads
/// in a worktree.
fn would_wait(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    })
}
