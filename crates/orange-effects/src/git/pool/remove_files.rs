//! Removes files safely: move aside, compare, and only then delete.
//!
//! A move is atomic, so nothing can be written to a path between the comparison and the deletion:
//! what arrives at the path afterwards is another file, and stays. A process that is killed in
//! between leaves the file where [`Worktree::restore_held`] finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::saved_contents::SavedContents;
use crate::git::worktree::disk::{DiskEntry, HashMode};
use crate::git::worktree::entry::Entry;
use crate::git::worktree::status::HELD_FOLDER;
use crate::git::{GitError, Worktree};

impl Worktree<'_> {
    /// Removes files that have exactly this content; returns the paths of those that differ.
    pub(crate) fn remove_proved(
        &self,
        proved: &BTreeMap<PathBuf, Entry>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let place = self.place()?;
        let mut moved = BTreeSet::new();
        let mut different = BTreeSet::new();
        for path in proved.keys() {
            let held_path = Path::new(HELD_FOLDER).join(path);
            match place.rename(path, &held_path) {
                Ok(true) => {
                    moved.insert(held_path);
                }
                Ok(false) => {
                    different.insert(path.clone());
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    place.remove_empty_parents(&held_path);
                }
                Err(error) => return Err(self.file_error("move aside", path)(error)),
            }
        }
        let found = self.on_disk(&moved, HashMode::Hash)?;
        for held_path in moved {
            let path = held_path
                .strip_prefix(HELD_FOLDER)
                .unwrap_or(&held_path)
                .to_owned();
            let entry = proved.get(&path).cloned();
            if found.get(&held_path).cloned() == entry.map(DiskEntry::Entry) {
                place
                    .remove(&held_path)
                    .map_err(self.file_error("remove", &held_path))?;
                place.remove_empty_parents(&path);
            } else {
                let _occupied = place.rename(&held_path, &path);
                different.insert(path);
            }
            place.remove_empty_parents(&held_path);
        }
        Ok(different)
    }

    /// Restores files that a killed process had moved aside. If another file has taken the place of
    /// one, the moved file is removed if its content is saved; otherwise it stays aside and counts
    /// as unsaved work.
    pub(crate) fn restore_held(
        &self,
        saved: impl FnOnce() -> Result<SavedContents, GitError>,
    ) -> Result<(), GitError> {
        let place = self.place()?;
        let held_paths = place.files(Path::new(HELD_FOLDER));
        let held_paths: BTreeSet<PathBuf> = held_paths
            .map_err(self.file_error("list", Path::new(HELD_FOLDER)))?
            .into_iter()
            .collect();
        let mut occupied = BTreeSet::new();
        for file in held_paths {
            let path = file.strip_prefix(HELD_FOLDER).unwrap_or(&file);
            if place.rename(&file, path).unwrap_or(false) {
                place.remove_empty_parents(&file);
            } else {
                occupied.insert(file);
            }
        }
        if occupied.is_empty() {
            return Ok(());
        }
        let saved = saved()?;
        for (file, found) in self.on_disk(&occupied, HashMode::Hash)? {
            let path = file.strip_prefix(HELD_FOLDER).unwrap_or(&file).to_owned();
            let DiskEntry::Entry(entry) = found else {
                continue;
            };
            if saved.has_held(self, &path, &file, &entry)? {
                place
                    .remove(&file)
                    .map_err(self.file_error("remove", &file))?;
                place.remove_empty_parents(&file);
            }
        }
        Ok(())
    }
}
