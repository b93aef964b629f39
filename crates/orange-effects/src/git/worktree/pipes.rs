//! Detects pipes and devices on which git would block.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::command::{CommandError, CommandExit};
use crate::git::{GitError, Worktree};
use crate::safe_directory::EntryKind;

/// Files that git reads on its own, anywhere in a worktree.
const READ: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Files that git reads in its own directory for a worktree.
const OWN: [&str; 3] = ["HEAD", "index", "info/sparse-checkout"];

impl Worktree<'_> {
    /// Refuses to run git where it would block, as far as that is quick to check: at the root, and
    /// in git's own directory.
    pub(crate) fn require_files(&self) -> Result<(), GitError> {
        let in_worktree = READ.iter().map(|name| self.path().join(name));
        let in_git_directory = OWN.iter().map(|name| self.directory().join(name));
        match in_worktree
            .chain(in_git_directory)
            .find(|path| can_block(path))
        {
            Some(path) => Err(GitError::NotRegularFile(path)),
            None => Ok(()),
        }
    }

    /// Names the file that a command blocked on, if it is one that git reads on its own.
    pub(crate) fn explain_block(&self, error: GitError) -> GitError {
        let GitError::Command(CommandError::Failed {
            ending: CommandExit::TimedOut(_),
            ..
        }) = &error
        else {
            return error;
        };
        match self.blocking_file() {
            Some(path) => GitError::NotRegularFile(self.path().join(path)),
            None => error,
        }
    }

    fn blocking_file(&self) -> Option<PathBuf> {
        let place = self.place().ok()?;
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for name in place.names(&folder).unwrap_or_default() {
                let path = folder.join(&name);
                match place.kind(&path) {
                    Ok(EntryKind::Other) if READ.iter().any(|it| name == *it) => return Some(path),
                    Ok(EntryKind::Folder) if name != ".git" => folders.push(path),
                    _ => {}
                }
            }
        }
        None
    }
}

/// Whether opening a path could block forever. Links need no check: git does not follow them for
/// the files that it reads in a worktree.
fn can_block(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    })
}
