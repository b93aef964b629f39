//! Ignored files of a worktree: counted, and set aside.
//!
//! No commit holds them, so nothing here deletes: they are moved, whole, to a directory of their
//! own on the same disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::repository::call::{parts, path};
use crate::git::{GitError, Worktree};
use crate::place::{Kind, Place};

/// A file that git ignores, or a directory of which it ignores everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Where it is, below the worktree.
    pub path: PathBuf,
    /// How much it holds.
    pub bytes: u64,
}

impl Worktree<'_> {
    /// What git ignores here, directories as one.
    pub fn ignored_entries(&self) -> Result<Vec<Ignored>, GitError> {
        let words = ["ls-files", "-z", "--others", "--ignored", "--directory"];
        let said = self.call(words).and(["--exclude-standard"]).bytes()?;
        let place = self.place()?;
        let mut found = Vec::new();
        for part in parts(&said) {
            let path = path(part.strip_suffix(b"/").unwrap_or(part));
            let bytes = self.size(&place, &path)?;
            found.push(Ignored { path, bytes });
        }
        Ok(found)
    }

    fn size(&self, place: &Place, path: &Path) -> Result<u64, GitError> {
        let failed = self.failed("look at", path);
        let files = match place.kind(path).map_err(&failed)? {
            Kind::Folder => place.files(path).map_err(&failed)?,
            Kind::Absent => Vec::new(),
            Kind::Entry(_) | Kind::Other => vec![path.to_owned()],
        };
        // What goes while it is counted counts nothing.
        let sizes = files.iter().filter_map(|file| {
            let found = fs::symlink_metadata(self.path().join(file));
            found.ok().map(|found| found.len())
        });
        Ok(sizes.sum())
    }

    /// Moves what git ignores into a directory that nobody else uses; those that were moved.
    ///
    /// Whoever is killed leaves some here and some there, and every byte in one of the two.
    pub fn set_aside(&self, entries: &[Ignored], folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        fs::create_dir_all(folder).map_err(GitError::system("make", folder))?;
        let from = self.place()?;
        let to = Place::open(folder).map_err(GitError::system("open", folder))?;
        let mut moved = Vec::new();
        for entry in entries {
            let path = &entry.path;
            let failed = self.failed("set aside", path);
            if from.kind(path).map_err(&failed)? == Kind::Absent {
                continue;
            }
            if to.take_in(&from, path, path).map_err(&failed)? {
                from.remove_empty_parents(path);
                moved.push(path.clone());
            }
        }
        Ok(moved)
    }
}
